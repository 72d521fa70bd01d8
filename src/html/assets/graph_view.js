// The program as a graph: ops in the colours of their groups, edges that fusion removed or kept,
// with pan, zoom and search.
(() => {
  const { element, svg, text, replace } = ingot.dom;
  const { bytes, counted } = ingot.format;
  const opsAtMost = 800;      // beyond it the graph is drawn by kernels
  const drawnAtMost = 3000;   // and beyond this not at all
  const copiesFrom = 40;      // in larger graphs an input stands beside each of its readers
  const letterWidth = 8.2;
  const labelsFrom = 0.55;    // scale from which on edges show their bytes

  // The end of a long name tells more than its beginning: exporters put paths before it.
  const clip = (name, most) => (name.length > most ? `…${name.slice(1 - most)}` : name);

  // The decision on an edge between two ops, if one was taken.
  function decisionsByEdge(report) {
    const edges = new Map();
    for (const decision of report.decisions) {
      if (decision.kind === 'sibling' || decision.kind === 'formula') continue;
      const key = `${decision.producer_op}\n${decision.consumer_op}`;
      if (!edges.has(key)) edges.set(key, decision);
    }
    return edges;
  }

  function opNodes(report) {
    const groups = new Map(report.groups.map((group) => [group.id, group]));
    return report.nodes.map((node) => ({
      name: node.name, what: node.op, groups: node.groups, output: node.output,
      stored: node.op === 'input' || node.op === 'weight', operands: node.operands, bytes: node.bytes,
      title: `${node.name} = ${node.op}: ${node.type}, ${bytes(node.bytes)}${node.groups.map((id) => `\nkernel ${id}: ${groups.get(id).name}`).join('')}`,
    }));
  }

  // What becomes of the bytes of an edge from one op to another.
  function fateOf(from, to, decision) {
    const shared = from.groups.filter((id) => to.groups.includes(id));
    const why = decision ? `\n${decision.fused ? 'yes' : 'no'}, ${decision.reason}: ${decision.detail}` : '';
    if (from.stored) return { kind: 'read', label: '', title: `read by ${to.name}: ${bytes(from.bytes)}` };
    if (shared.length === 0) return { kind: 'kept', label: bytes(from.bytes), title: `${from.name} → ${to.name}: through memory, ${bytes(from.bytes)}${why}` };
    const saved = decision ? decision.bytes_saved : 0;
    return { kind: 'removed', label: saved > 0 ? `−${bytes(saved)}` : '', title: `${from.name} → ${to.name}: inside a kernel, ${bytes(saved)} saved at most${why}` };
  }

  function opGraph(report) {
    const nodes = opNodes(report);
    const position = new Map(nodes.map((node, index) => [node.name, index]));
    const decided = decisionsByEdge(report);
    const edges = [];
    const drawn = new Set();
    const copies = nodes.length > copiesFrom;
    [...nodes].forEach((node, to) => {
      for (const operand of new Set(node.operands)) {
        let from = position.get(operand);
        if (from === undefined || from >= to) continue;
        if (copies && nodes[from].stored && drawn.has(from)) from = nodes.push({ ...nodes[from] }) - 1;
        drawn.add(from);
        edges.push({ from, to, ...fateOf(nodes[from], node, decided.get(`${operand}\n${node.name}`)) });
      }
    });
    return { nodes, edges };
  }

  function kernelGraph(report) {
    const size = new Map(report.nodes.map((node) => [node.name, node.bytes]));
    const maker = new Map();
    const nodes = report.groups.map((group, index) => {
      for (const name of group.outputs) maker.set(name, index);
      return { name: group.name, what: `kernel ${group.id}, ${counted(group.ops.length, 'op')}`, groups: [group.id], stored: false,
        title: `kernel ${group.id}: ${group.ops.join(', ')}\n${group.reason}` };
    });
    // One edge for all tensors from one kernel to another.
    const edges = new Map();
    report.groups.forEach((group, to) => {
      for (const name of group.inputs) {
        const from = maker.get(name);
        if (from === undefined || from >= to) continue;
        const key = `${from} ${to}`;
        if (!edges.has(key)) edges.set(key, { from, to, kind: 'kept', names: [], total: 0 });
        edges.get(key).names.push(name);
        edges.get(key).total += size.get(name) ?? 0;
      }
    });
    return { nodes, edges: [...edges.values()].map((edge) => ({ ...edge,
      label: `${edge.names.length > 1 ? `${edge.names.length} tensors, ` : ''}${bytes(edge.total)}`,
      title: `through memory: ${edge.names.join(', ')}` })) };
  }

  function box(node) {
    const name = clip(node.name, 26);
    const what = clip(node.what, 30);
    node.lines = node.stored ? [name] : [name, what];
    node.width = Math.max(48, 20 + letterWidth * Math.max(name.length, 0.88 * (node.stored ? 0 : what.length)));
    node.height = node.stored ? 26 : 44;
    return node;
  }

  function nodeShape(node, place) {
    const own = node.groups.length > 0;
    const group = svg('g', {
      class: `node ${node.stored ? 'stored' : ''} ${own ? `group-${node.groups[0] % 8}` : 'alone'} ${node.output ? 'output' : ''}`,
      transform: `translate(${place.x - node.width / 2},${place.y - node.height / 2})`,
    }, svg('title', {}, node.title),
      svg('rect', { width: node.width, height: node.height, rx: node.stored ? node.height / 2 : 7 }),
      node.lines.map((line, index) => text(node.width / 2, (node.stored ? 17 : 18) + 17 * index, line, { 'text-anchor': 'middle', class: index === 0 ? 'node-name' : 'node-what' })));
    return group;
  }

  // From the lower side of one node to the upper side of the other.
  function ends(edge, route, nodes) {
    const points = route.map((point) => ({ ...point }));
    points[0].y += nodes[edge.from].height / 2;
    points[points.length - 1].y -= nodes[edge.to].height / 2 + 5;
    return points;
  }

  function edgeShape(edge, points) {
    let path = `M${points[0].x},${points[0].y}`;
    for (let i = 1; i < points.length; i += 1) {
      const [a, b] = [points[i - 1], points[i]];
      const half = (a.y + b.y) / 2;
      path += `C${a.x},${half} ${b.x},${half} ${b.x},${b.y}`;
    }
    const end = points[points.length - 1];
    return svg('g', { class: `edge ${edge.kind}` }, svg('title', {}, edge.title), svg('path', { class: 'hit', d: path }), svg('path', { d: path }),
      svg('path', { class: 'tip', d: `M${end.x - 4},${end.y - 3}L${end.x},${end.y + 4}L${end.x + 4},${end.y - 3}z` }));
  }

  // The part of the drawing that the window shows, and the keys, pointers and buttons that move it.
  class View {
    constructor(frame, drawn, content, nodes) {
      Object.assign(this, { frame, drawn, content, scale: 1, x: 0, y: 0, pointers: new Map() });
      this.map = ingot.graphMap(this, nodes);
      frame.append(this.map.node);
      frame.addEventListener('pointerdown', (event) => this.press(event));
      frame.addEventListener('pointermove', (event) => this.drag(event));
      for (const name of ['pointerup', 'pointercancel']) frame.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
      frame.addEventListener('keydown', (event) => this.key(event));
      // The wheel belongs to the page, unless Ctrl (or a pinch on a touchpad) says otherwise.
      frame.addEventListener('wheel', (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        const at = this.local(event);
        this.zoom(Math.exp(-event.deltaY / 200), at.x, at.y);
      }, { passive: false });
      new ResizeObserver(() => (this.moved ? this.apply() : this.fit())).observe(frame);
    }

    local(event) {
      const rect = this.frame.getBoundingClientRect();
      return { x: event.clientX - rect.left, y: event.clientY - rect.top };
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
      this.scale = Math.min(1.25, (width - 2 * margin) / Math.max(1, this.drawn.width), (height - 2 * margin) / Math.max(1, this.drawn.height));
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
      const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      if (others.length === 1) {
        const far = (at) => Math.hypot(at.x - others[0].x, at.y - others[0].y);
        this.zoom(far(now) / Math.max(1, far(before)), (now.x + others[0].x) / 2, (now.y + others[0].y) / 2);
      } else {
        this.move(now.x - before.x, now.y - before.y);
      }
      this.pointers.set(event.pointerId, now);
    }

    key(event) {
      const act = {
        ArrowLeft: () => this.move(60, 0), ArrowRight: () => this.move(-60, 0), ArrowUp: () => this.move(0, 60), ArrowDown: () => this.move(0, -60),
        '+': () => this.zoom(1.25), '=': () => this.zoom(1.25), '-': () => this.zoom(0.8), 0: () => { this.moved = false; this.fit(); },
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    }
  }

  function search(view, nodes, shapes) {
    const found = element('span', { class: 'found', role: 'status' });
    let hits = [];
    let at = -1;
    const look = () => {
      const words = input.value.trim().toLowerCase();
      hits = words ? nodes.map((node, index) => (node.name.toLowerCase().includes(words) || node.what.toLowerCase().includes(words) ? index : -1)).filter((index) => index >= 0) : [];
      shapes.forEach((shape, index) => {
        shape.classList.toggle('hit-node', hits.includes(index));
        shape.classList.remove('current-node');
      });
      at = -1;
      found.textContent = words ? counted(hits.length, 'match', 'matches') : '';
      if (hits.length > 0) next(1);
    };
    const next = (by) => {
      if (hits.length === 0) return;
      at = (at + by + hits.length) % hits.length;
      shapes.forEach((shape, index) => shape.classList.toggle('current-node', index === hits[at]));
      view.center(view.drawn.places[hits[at]]);
      found.textContent = `${at + 1} of ${hits.length}`;
    };
    const input = element('input', {
      type: 'search', placeholder: 'Find a tensor or op', 'aria-label': 'Find a tensor or op', oninput: look,
      onkeydown: (event) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        next(event.shiftKey ? -1 : 1);
      },
    });
    const find = (name) => {
      input.value = name;
      look();
    };
    return { node: element('span', { class: 'search' }, input, found), find };
  }

  const legend = () => element('p', { class: 'legend' },
    [['removed', 'stays inside a kernel: bytes saved at most'], ['kept', 'through memory'], ['read', 'input or weight']].map(([kind, words]) =>
      element('span', {}, svg('svg', { width: 30, height: 10, class: 'sample', 'aria-hidden': true }, svg('g', { class: `edge ${kind}` }, svg('path', { d: 'M1,5L29,5' }))), words)),
    element('span', {}, 'Colours are kernels.'));

  function draw(place, report, kind) {
    const { nodes, edges } = kind === 'ops' ? opGraph(report) : kernelGraph(report);
    if (nodes.length > drawnAtMost) {
      replace(place, element('p', { class: 'aside' }, `${counted(nodes.length, 'node')}: too many to draw. The tables below have them all.`));
      return;
    }
    nodes.forEach(box);
    const drawn = ingot.layout(nodes, edges.map(({ from, to }) => [from, to]));
    const shapes = nodes.map((node, index) => nodeShape(node, drawn.places[index]));
    const routes = edges.map((edge, index) => ends(edge, drawn.routes[index], nodes));
    const boxes = nodes.map((node, index) => {
      const { x, y } = drawn.places[index];
      return { left: x - node.width / 2, right: x + node.width / 2, top: y - node.height / 2, bottom: y + node.height / 2 };
    });
    const labels = ingot.labelPlaces(edges.map((edge) => edge.label), routes, boxes);
    const content = svg('g', {}, edges.map((edge, index) => edgeShape(edge, routes[index])),
      // On top of all lines.
      edges.map((edge, index) => (labels[index] ? text(labels[index].x, labels[index].y, edge.label, { class: `edge-label ${edge.kind}` }) : null)), shapes);
    const frame = svg('svg', { class: 'graph', tabindex: 0, role: 'img', 'aria-label': `Graph of ${nodes.length} nodes. Arrow keys pan, plus and minus zoom, 0 fits.` }, content);
    const height = Math.min(560, Math.max(220, drawn.height * 1.25 + 40));
    frame.style.height = `${height}px`;
    const view = new View(frame, drawn, content, nodes);
    const finder = search(view, nodes, shapes);
    const button = (label, name, act) => element('button', { type: 'button', 'aria-label': name, onclick: act }, label);
    replace(place,
      element('div', { class: 'tools' }, finder.node, button('+', 'Zoom in', () => view.zoom(1.25)), button('−', 'Zoom out', () => view.zoom(0.8)),
        button('Fit', 'Fit the graph', () => { view.moved = false; view.fit(); })),
      frame, legend());
    view.begin();
    window.addEventListener('beforeprint', () => view.fit());
    Object.assign(ingot.graph, { view, find: finder.find });
  }

  // The section of a report; `kinds` says what can be drawn.
  function graphSection(report) {
    const place = element('div', {});
    const many = report.nodes.length > opsAtMost;
    const choice = element('select', { 'aria-label': 'Draw', onchange: () => draw(place, report, choice.value) },
      [['ops', 'ops'], ['kernels', 'kernels']].map(([value, label]) => element('option', { value, selected: value === (many ? 'kernels' : 'ops') }, label)));
    const node = element('section', { class: 'card', id: 'graph' },
      element('div', { class: 'section-head' }, element('h2', {}, 'Graph'), element('label', { class: 'inline' }, 'drawn by ', choice)), place);
    // Shows an op where it stands in the graph.
    const show = (name) => {
      if (choice.value !== 'ops') {
        choice.value = 'ops';
        draw(place, report, 'ops');
      }
      node.scrollIntoView({ block: 'start' });
      ingot.graph.find(name);
    };
    return { node, show, start: () => draw(place, report, choice.value) };
  }

  ingot.graph = { section: graphSection, opGraph, kernelGraph };
})();
