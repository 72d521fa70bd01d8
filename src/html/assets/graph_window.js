// The window on a drawing: pan, zoom, and what moves it.
(() => {
  const labelsFrom = 0.55;  // scale from which on edges show their bytes

  // frame: the svg; drawn: of ingot.layout; content: what is moved; nodes: for the map.
  class GraphWindow {
    constructor(frame, drawn, content, nodes) {
      Object.assign(this, {frame, drawn, content, scale: 1, x: 0, y: 0, pointers: new Map()});
      this.map = ingot.graphMap(this, nodes);
      frame.append(this.map.node);
      frame.addEventListener('pointerdown', (event) => this.press(event));
      frame.addEventListener('pointermove', (event) => this.drag(event));
      for (const name of ['pointerup', 'pointercancel'])
        frame.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
      frame.addEventListener('keydown', (event) => this.key(event));
      // The wheel belongs to the page, unless Ctrl (or a pinch on a touchpad) says otherwise.
      frame.addEventListener('wheel', (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        const at = this.local(event);
        this.zoom(Math.exp(-event.deltaY / 200), at.x, at.y);
      }, {passive: false});
      new ResizeObserver(() => (this.moved ? this.apply() : this.fit())).observe(frame);
    }

    local(event) {
      const rect = this.frame.getBoundingClientRect();
      return {x: event.clientX - rect.left, y: event.clientY - rect.top};
    }

    apply() {
      this.content.setAttribute('transform', `translate(${this.x},${this.y}) scale(${this.scale})`);
      this.frame.classList.toggle('far', this.scale < labelsFrom);
      this.map.follow();
    }

    fit() {
      const [width, height] = [this.frame.clientWidth, this.frame.clientHeight];
      if (width === 0) return;
      const margin = 16;
      this.scale = Math.min(
          1.25, (width - 2 * margin) / Math.max(1, this.drawn.width),
          (height - 2 * margin) / Math.max(1, this.drawn.height));
      this.x = (width - this.drawn.width * this.scale) / 2;
      this.y = (height - this.drawn.height * this.scale) / 2;
      this.apply();
    }

    // Readable size at the top of the graph, where all of it would be too small to read.
    begin() {
      this.fit();
      if (this.scale >= 0.5) return;
      this.scale = 0.8;
      const first = this.drawn.places[0];
      this.x = this.frame.clientWidth / 2 - first.x * this.scale;
      this.y = 20;
      this.moved = true;
      this.apply();
    }

    zoom(by, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
      const scale = Math.min(4, Math.max(0.02, this.scale * by));
      this.x = x - ((x - this.x) * scale) / this.scale;
      this.y = y - ((y - this.y) * scale) / this.scale;
      this.scale = scale;
      this.moved = true;
      this.apply();
    }

    move(dx, dy) {
      this.x += dx;
      this.y += dy;
      this.moved = true;
      this.apply();
    }

    center(place) {
      this.scale = Math.max(this.scale, 0.9);
      this.x = this.frame.clientWidth / 2 - place.x * this.scale;
      this.y = this.frame.clientHeight / 2 - place.y * this.scale;
      this.moved = true;
      this.apply();
    }

    press(event) {
      this.frame.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.local(event));
    }

    // One pointer pans, two zoom about their middle.
    drag(event) {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = this.local(event);
      const others =
          [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      if (others.length === 1) {
        const far = (at) => Math.hypot(at.x - others[0].x, at.y - others[0].y);
        this.zoom(
            far(now) / Math.max(1, far(before)), (now.x + others[0].x) / 2,
            (now.y + others[0].y) / 2);
      } else {
        this.move(now.x - before.x, now.y - before.y);
      }
      this.pointers.set(event.pointerId, now);
    }

    key(event) {
      const act = {
        ArrowLeft: () => this.move(60, 0),
        ArrowRight: () => this.move(-60, 0),
        ArrowUp: () => this.move(0, 60),
        ArrowDown: () => this.move(0, -60),
        '+': () => this.zoom(1.25),
        '=': () => this.zoom(1.25),
        '-': () => this.zoom(0.8),
        0: () => {
          this.moved = false;
          this.fit();
        },
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    }
  }

  ingot.GraphWindow = GraphWindow;
})();
