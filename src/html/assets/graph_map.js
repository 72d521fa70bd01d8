// The whole graph, small, in a corner of its window: where the window is, and a way to go
// elsewhere.
(() => {
  const {svg} = ingot.dom;
  const widest = 130;
  const margin = 10;
  const neededFrom = 0.35;  // where the whole graph fits at this scale, no map is needed
  const narrow = 560;       // a window of this width has no room for it

  // view: of graph_view.js; nodes with width and height. Gives { node, follow() }.
  function graphMap(view, nodes) {
    const {frame, drawn} = view;
    const window = svg('rect', {class: 'map-window'});
    const boxes = nodes.map(
        (node, index) => svg('rect', {
          class: node.groups.length > 0 ? `map-node group-${node.groups[0] % 8}` : 'map-node',
          width: node.width,
          height: node.height,
          x: drawn.places[index].x - node.width / 2,
          y: drawn.places[index].y - node.height / 2
        }));
    const content = svg('g', {}, boxes, window);
    const ground = svg('rect', {class: 'map-ground', rx: 6});
    const node = svg('g', {class: 'map', 'aria-hidden': true}, ground, content);
    let scale = 1;

    function follow() {
      const [width, height] = [frame.clientWidth, frame.clientHeight];
      const whole = Math.min(width / Math.max(1, drawn.width), height / Math.max(1, drawn.height));
      const absent = whole > neededFrom || width < narrow;
      node.classList.toggle('absent', absent);
      if (absent) return;
      scale = Math.min((widest - 12) / drawn.width, (height - 2 * margin - 12) / drawn.height);
      const [ownWidth, ownHeight] = [drawn.width * scale + 12, drawn.height * scale + 12];
      node.setAttribute('transform', `translate(${width - ownWidth - margin},${margin})`);
      content.setAttribute('transform', `translate(6,6) scale(${scale})`);
      const put = (rect, values) =>
          Object.entries(values).forEach(([name, value]) => rect.setAttribute(name, value));
      put(ground, {width: ownWidth, height: ownHeight});
      // What the window shows, cut at the graph's edges.
      const [left, top] = [Math.max(0, -view.x / view.scale), Math.max(0, -view.y / view.scale)];
      const right = Math.min(drawn.width, (width - view.x) / view.scale);
      const bottom = Math.min(drawn.height, (height - view.y) / view.scale);
      put(window, {
        x: left,
        y: top,
        width: Math.max(0, right - left),
        height: Math.max(0, bottom - top),
        'stroke-width': 1.5 / scale
      });
    }

    const go = (event) => {
      const rect = ground.getBoundingClientRect();
      view.center(
          {x: (event.clientX - rect.left - 6) / scale, y: (event.clientY - rect.top - 6) / scale});
    };
    node.addEventListener('pointerdown', (event) => {
      event.stopPropagation();
      node.setPointerCapture(event.pointerId);
      go(event);
    });
    node.addEventListener('pointermove', (event) => {
      if (!node.hasPointerCapture(event.pointerId)) return;
      event.stopPropagation();
      go(event);
    });
    return {node, follow};
  }

  ingot.graphMap = graphMap;
})();
