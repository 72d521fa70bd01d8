'use strict';
// The one global: every file of a page adds to it.
const ingot = {};

// Elements without markup in strings: names of a user's tensors are text wherever they stand.
(() => {
  const SVG = 'http://www.w3.org/2000/svg';

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith('on'))
        node.addEventListener(name.slice(2), value);
      else if (name === 'style')
        Object.assign(node.style, value);
      else
        node.setAttribute(name, value === true ? '' : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child === undefined || child === null || child === false) continue;
      node.append(child instanceof Node ? child : String(child));
    }
    return node;
  }

  // element('p', { class: 'claim', onclick: handler }, 'text', node, [nodes])
  const element = (name, attributes = {}, ...children) =>
      fill(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) =>
      fill(document.createElementNS(SVG, name), attributes, children);
  const replace = (node, ...children) => {
    node.replaceChildren();
    return fill(node, {}, children);
  };

  // A drawing as wide as its place, so that its text has the page's size on every screen.
  const drawing = (width, height, label, ...children) => svg(
      'svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
      ...children);
  const text = (x, y, content, attributes = {}) => svg('text', {x, y, ...attributes}, content);

  // Calls `draw(width)` now and whenever the width of `node` changes.
  function whenSized(node, draw) {
    let drawn = 0;
    const look = () => {
      const width = Math.floor(node.clientWidth);
      if (width > 0 && width !== drawn) {
        drawn = width;
        draw(width);
      }
    };
    new ResizeObserver(look).observe(node);
    look();
  }

  function table(headings, rows, attributes = {}) {
    const cell = (name, value) =>
        element(name, {class: typeof value === 'number' ? 'number' : null}, value);
    return element(
        'table', attributes,
        element(
            'thead', {},
            element('tr', {}, headings.map((heading) => element('th', {scope: 'col'}, heading)))),
        element(
            'tbody', {},
            rows.map((row) => element('tr', {}, row.map((value) => cell('td', value))))));
  }

  const data = () => JSON.parse(document.getElementById('data').textContent);

  ingot.dom = {element, svg, replace, drawing, text, whenSized, table, data};
})();
