// The section of a report that draws the program: nodes in the colours of their kernels, edges with
// the bytes that fusion removed or kept, search.
(() => {
  const {element, svg, text, replace} = ingot.dom;
  const {counted} = ingot.format;
  const opsAtMost = 800;     // beyond it the graph is drawn by kernels
  const drawnAtMost = 3000;  // and beyond this not at all
  const letterWidth = 8.2;

  // The end of a long name tells more than its beginning: exporters put paths before it.
  const clip = (name, most) => (name.length > most ? `…${name.slice(1 - most)}` : name);

  function box(node) {
    const name = clip(node.name, 26);
    const what = clip(node.what, 30);
    node.lines = node.stored ? [name] : [name, what];
    node.width = Math.max(
        48, 20 + letterWidth * Math.max(name.length, 0.88 * (node.stored ? 0 : what.length)));
    node.height = node.stored ? 26 : 44;
    return node;
  }

  function nodeShape(node, place) {
    const own = node.groups.length > 0;
    const group =
        svg('g', {
          class: `node ${node.stored ? 'stored' : ''} ${
              own ? `group-${node.groups[0] % 8}` : 'alone'} ${node.output ? 'output' : ''}`,
          transform: `translate(${place.x - node.width / 2},${place.y - node.height / 2})`,
        },
            svg('title', {}, node.title),
            svg('rect',
                {width: node.width, height: node.height, rx: node.stored ? node.height / 2 : 7}),
            node.lines.map(
                (line, index) => text(
                    node.width / 2, (node.stored ? 17 : 18) + 17 * index, line,
                    {'text-anchor': 'middle', class: index === 0 ? 'node-name' : 'node-what'})));
    return group;
  }

  // From the lower side of one node to the upper side of the other.
  function ends(edge, route, nodes) {
    const points = route.map((point) => ({...point}));
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
    return svg(
        'g', {class: `edge ${edge.kind}`}, svg('title', {}, edge.title),
        svg('path', {class: 'hit', d: path}), svg('path', {d: path}), svg('path', {
          class: 'tip',
          d: `M${end.x - 4},${end.y - 3}L${end.x},${end.y + 4}L${end.x + 4},${end.y - 3}z`
        }));
  }

  function search(view, nodes, shapes) {
    const found = element('span', {class: 'found', role: 'status'});
    let hits = [];
    let at = -1;
    const look = () => {
      const words = input.value.trim().toLowerCase();
      hits = words ? nodes
                         .map(
                             (node, index) =>
                                 (node.name.toLowerCase().includes(words) ||
                                          node.what.toLowerCase().includes(words) ?
                                      index :
                                      -1))
                         .filter((index) => index >= 0) :
                     [];
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
      type: 'search',
      placeholder: 'Find a tensor or op',
      'aria-label': 'Find a tensor or op',
      oninput: look,
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
    return {node: element('span', {class: 'search'}, input, found), find};
  }

  const legend = () => element(
      'p', {class: 'legend'},
      [
        ['removed', 'stays inside a kernel: bytes saved at most'], ['kept', 'through memory'],
        ['read', 'input or weight']
      ]
          .map(
              ([kind, words]) => element(
                  'span', {},
                  svg('svg', {width: 30, height: 10, class: 'sample', 'aria-hidden': true},
                      svg('g', {class: `edge ${kind}`}, svg('path', {d: 'M1,5L29,5'}))),
                  words)),
      element('span', {}, 'Colours are kernels.'));

  function draw(place, report, kind) {
    const {nodes, edges} = ingot.programGraph(report, kind);
    if (nodes.length > drawnAtMost) {
      replace(
          place,
          element(
              'p', {class: 'aside'},
              `${
                  counted(
                      nodes.length, 'node')}: too many to draw. The tables below have them all.`));
      return;
    }
    nodes.forEach(box);
    const drawn = ingot.layout(nodes, edges.map(({from, to}) => [from, to]));
    const shapes = nodes.map((node, index) => nodeShape(node, drawn.places[index]));
    const routes = edges.map((edge, index) => ends(edge, drawn.routes[index], nodes));
    const boxes = nodes.map((node, index) => {
      const {x, y} = drawn.places[index];
      return {
        left: x - node.width / 2,
        right: x + node.width / 2,
        top: y - node.height / 2,
        bottom: y + node.height / 2
      };
    });
    const labels = ingot.labelPlaces(edges.map((edge) => edge.label), routes, boxes);
    const content =
        svg('g', {}, edges.map((edge, index) => edgeShape(edge, routes[index])),
            // On top of all lines.
            edges.map(
                (edge, index) =>
                    (labels[index] ? text(
                                         labels[index].x, labels[index].y, edge.label,
                                         {class: `edge-label ${edge.kind}`}) :
                                     null)),
            shapes);
    const frame =
        svg('svg', {
          class: 'graph',
          tabindex: 0,
          role: 'img',
          'aria-label':
              `Graph of ${nodes.length} nodes. Arrow keys pan, plus and minus zoom, 0 fits.`
        },
            content);
    const height = Math.min(560, Math.max(220, drawn.height * 1.25 + 40));
    frame.style.height = `${height}px`;
    const view = new ingot.GraphWindow(frame, drawn, content, nodes);
    const finder = search(view, nodes, shapes);
    const button = (label, name, act) =>
        element('button', {type: 'button', 'aria-label': name, onclick: act}, label);
    replace(
        place,
        element(
            'div', {class: 'tools'}, finder.node, button('+', 'Zoom in', () => view.zoom(1.25)),
            button('−', 'Zoom out', () => view.zoom(0.8)),
            button(
                'Fit', 'Fit the graph',
                () => {
                  view.moved = false;
                  view.fit();
                })),
        frame, legend());
    view.begin();
    window.addEventListener('beforeprint', () => view.fit());
    Object.assign(ingot.graph, {view, find: finder.find});
  }

  // The section of a report; `kinds` says what can be drawn.
  function graphSection(report) {
    const place = element('div', {});
    const many = report.nodes.length > opsAtMost;
    const choice = element(
        'select', {'aria-label': 'Draw', onchange: () => draw(place, report, choice.value)},
        [['ops', 'ops'], ['kernels', 'kernels']].map(
            ([value, label]) =>
                element('option', {value, selected: value === (many ? 'kernels' : 'ops')}, label)));
    const node = element(
        'section', {class: 'card', id: 'graph'},
        element(
            'div', {class: 'section-head'}, element('h2', {}, 'Graph'),
            element('label', {class: 'inline'}, 'drawn by ', choice)),
        place);
    // Shows an op where it stands in the graph.
    const show = (name) => {
      if (choice.value !== 'ops') {
        choice.value = 'ops';
        draw(place, report, 'ops');
      }
      node.scrollIntoView({block: 'start'});
      ingot.graph.find(name);
    };
    return {node, show, start: () => draw(place, report, choice.value)};
  }

  ingot.graph = {section: graphSection};
})();
