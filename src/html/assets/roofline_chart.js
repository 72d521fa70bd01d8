// A roofline: attainable rate over intensity, both logarithmic, with points and arrows between
// them.
(() => {
  const {svg, drawing, text} = ingot.dom;
  const {significant} = ingot.format;
  const {decades, scale} = ingot.logAxes;

  const attainable = (roof, intensity) => Math.min(roof.compute, intensity * roof.bandwidth);
  const ridge = (roof) => roof.compute / roof.bandwidth;

  const rate = (gflops) => gflops >= 1e6 ? `${significant(gflops / 1e6)} P` :
      gflops >= 1e3 ? `${significant(gflops / 1e3)} T` :
                      `${significant(gflops)} G`;

  // Holds all values with room, and at least [least, most].
  const range = (values, least, most) =>
      [Math.min(least, ...values.map((value) => value / 2)),
       Math.max(most, ...values.map((value) => value * 2.2))];

  function axes(width, height, xs, ys) {
    const margin = {left: width < 480 ? 46 : 60, right: 16, top: 16, bottom: 44};
    return {
      margin,
      x: scale(xs, margin.left, width - margin.right),
      y: scale(ys, height - margin.bottom, margin.top),
    };
  }

  function grid(place, width, height, xs, ys) {
    const {margin, x, y} = place;
    const every = (list) => list.filter((_, index) => list.length * 60 < width || index % 2 === 0);
    return [
      decades(...xs).map((value) => svg('line', {
                           class: 'grid',
                           x1: x(value),
                           x2: x(value),
                           y1: margin.top,
                           y2: height - margin.bottom
                         })),
      decades(...ys).map((value) => svg('line', {
                           class: 'grid',
                           x1: margin.left,
                           x2: width - margin.right,
                           y1: y(value),
                           y2: y(value)
                         })),
      every(decades(...xs))
          .map(
              (value) => text(
                  x(value), height - margin.bottom + 17, significant(value),
                  {class: 'tick', 'text-anchor': 'middle'})),
      every(decades(...ys)).map((value) => text(margin.left - 6, y(value) + 4, rate(value), {
                                  class: 'tick',
                                  'text-anchor': 'end'
                                })),
      text(
          (margin.left + width - margin.right) / 2, height - 6, 'intensity, FLOP a byte',
          {class: 'axis', 'text-anchor': 'middle'}),
      text(4, margin.top - 4, 'FLOP/s', {class: 'axis'}),
    ];
  }

  function roofLine(place, roof, xs, ys) {
    const corner = ridge(roof);
    const start = Math.max(xs[0], ys[0] / roof.bandwidth);
    const {x, y} = place;
    const path = corner > xs[1] ?
        `M${x(start)},${y(start * roof.bandwidth)}L${x(xs[1])},${y(xs[1] * roof.bandwidth)}` :
        `M${x(start)},${y(start * roof.bandwidth)}L${x(corner)},${y(roof.compute)}L${x(xs[1])},${
            y(roof.compute)}`;
    return svg('path', {class: 'roof', d: path});
  }

  function arrow(place, from, to) {
    const [x1, y1, x2, y2] = [place.x(from.x), place.y(from.y), place.x(to.x), place.y(to.y)];
    const length = Math.hypot(x2 - x1, y2 - y1);
    if (length < 14) return null;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [tipX, tipY] = [x2 - 7 * ux, y2 - 7 * uy];
    const head =
        `M${tipX},${tipY}l${- 8 * ux - 4 * uy},${- 8 * uy + 4 * ux}l${8 * uy},${- 8 * ux}z`;
    return svg(
        'g', {class: 'arrow'}, svg('line', {x1, y1, x2: tipX - 5 * ux, y2: tipY - 5 * uy}),
        svg('path', {d: head}));
  }

  const letterWidth = 8;
  const overlap = (one, other) => one.left < other.right && other.left < one.right &&
      one.top < other.bottom && other.top < one.bottom;

  // Where the point's label stands: below it or above, on the side that has room, but on no other
  // label or point. null: nowhere; the chosen point's label stands in any case.
  function labelPlace(place, point, width, taken) {
    const [x, y] = [place.x(point.x), place.y(point.y)];
    const length = letterWidth * point.label.length;
    const offsets = point.below ? [34, -12] : [19, -12, 34];
    for (const [tried, dy] of offsets.entries()) {
      const right = x + 11 + length > width;
      const left = right ? x + 8 - length : x + 11;
      const box = {left, right: left + length, top: y + dy - 12, bottom: y + dy + 3};
      const needed = point.kind === 'chosen' && tried === offsets.length - 1;
      if (!needed && (left < 0 || taken.some((other) => overlap(box, other)))) continue;
      taken.push(box);
      return {x: right ? x + 8 : x + 11, y: y + dy, anchor: right ? 'end' : 'start'};
    }
    return null;
  }

  function mark(place, point, width, taken) {
    const x = place.x(point.x);
    const y = place.y(point.y);
    const at = point.label ? labelPlace(place, point, width, taken) : null;
    return svg(
        'g', {class: `point ${point.kind || ''}`},
        svg('title', {}, point.title || point.label || ''),
        point.kind === 'separate' ?
            svg('rect', {x: x - 4.5, y: y - 4.5, width: 9, height: 9}) :
            svg('circle', {cx: x, cy: y, r: point.kind === 'chosen' ? 7 : 5.5}),
        at ? text(at.x, at.y, point.label, {class: 'label', 'text-anchor': at.anchor}) : null);
  }

  // roof: { bandwidth GB/s, compute GFLOP/s }; points: [{ x, y, label, title, kind }] with x
  // in FLOP a byte and y in GFLOP/s; arrows: [[point, point]].
  function rooflineChart(width, height, roof, points, arrows, label) {
    const shown = points.filter((point) => point.x > 0 && point.y > 0);
    const xs = range([...shown.map((point) => point.x), ridge(roof)], 0.1, 100);
    const ys =
        range([...shown.map((point) => point.y), roof.compute], roof.compute / 200, roof.compute);
    const place = axes(width, height, xs, ys);
    const around = ({x, y}) => (
        {left: place.x(x) - 6, right: place.x(x) + 6, top: place.y(y) - 6, bottom: place.y(y) + 6});
    const roofTop = place.y(roof.compute);
    // Below the middle of the slope, where no line crosses it.
    const start = Math.max(xs[0], ys[0] / roof.bandwidth);
    const middle = Math.sqrt(start * Math.min(ridge(roof), xs[1]));
    const slope = {left: place.x(middle) + 12, top: place.y(middle * roof.bandwidth) + 12};
    Object.assign(slope, {right: slope.left + 90, bottom: slope.top + 16});
    const taken = [
      ...shown.map(around), slope,
      {left: width - 110, right: width, top: roofTop - 22, bottom: roofTop - 2}
    ];
    return drawing(
        width, height, label, grid(place, width, height, xs, ys), roofLine(place, roof, xs, ys),
        text(
            width - place.margin.right, place.y(roof.compute) - 8, `${rate(roof.compute)}FLOP/s`,
            {class: 'roof-label', 'text-anchor': 'end'}),
        text(
            slope.left, slope.bottom - 3, `${significant(roof.bandwidth)} GB/s`,
            {class: 'roof-label'}),
        arrows.filter(([from, to]) => from.x > 0 && to.x > 0 && from.y > 0 && to.y > 0)
            .map(([from, to]) => arrow(place, from, to)),
        shown.map((point) => mark(place, point, width, taken)));
  }

  ingot.roofline = {attainable, ridge, chart: rooflineChart};
})();
