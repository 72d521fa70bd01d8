// Times over a size, both logarithmic: a line with marks for each way.
(() => {
  const {svg, drawing, text, replace, whenSized, element} = ingot.dom;
  const {microseconds, significant} = ingot.format;
  const {ticks, scale} = ingot.logAxes;
  const height = 340;
  const margin = {left: 66, right: 18, top: 14, bottom: 46};

  // Room around the values; a single one stands in the middle.
  function range(values) {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const room = most / least > 4 ? 1.25 : 2;
    return [least / room, most * room];
  }

  const letterWidth = 7.5;
  // Labels that do not touch the one before.
  function apart(values, place, label) {
    let end = -Infinity;
    return values.filter((value) => {
      const half = (letterWidth * label(value).length) / 2 + 4;
      if (place(value) - half < end) return false;
      end = place(value) + half;
      return true;
    });
  }

  function axes(width, xs, ys, sizes, name) {
    const x = scale(xs, margin.left, width - margin.right);
    const y = scale(ys, height - margin.bottom, margin.top);
    const [left, right, bottom] = [margin.left, width - margin.right, height - margin.bottom];
    const rows = ticks(...ys);
    const drawn = [
      rows.map((us) => svg('line', {class: 'grid', x1: left, x2: right, y1: y(us), y2: y(us)})),
      rows.map(
          (us) =>
              text(left - 8, y(us) + 4, microseconds(us), {class: 'tick', 'text-anchor': 'end'})),
      sizes.map(
          (size) =>
              svg('line', {class: 'grid', x1: x(size), x2: x(size), y1: margin.top, y2: bottom})),
      apart(sizes, x, (size) => significant(size, 6))
          .map(
              (size) => text(
                  x(size), bottom + 18, significant(size, 6),
                  {class: 'tick', 'text-anchor': 'middle'})),
      text((left + right) / 2, height - 6, name, {class: 'axis', 'text-anchor': 'middle'})
    ];
    return {x, y, drawn};
  }

  function mark({shape}, x, y, title) {
    const node = shape === 'square' ? svg('rect', {x: x - 4.5, y: y - 4.5, width: 9, height: 9}) :
        shape === 'circle'          ? svg('circle', {cx: x, cy: y, r: 5}) :
                                      svg('path', {d: `M${x},${y - 6}l6,10.5h-12z`});
    return svg('g', {class: 'mark'}, svg('title', {}, title), node);
  }

  function drawSeries(place, series) {
    const at = series.points.map(({size, us}) => [place.x(size), place.y(us)]);
    return svg(
        'g', {class: `series ${series.kind}`},
        svg('path', {class: 'line', d: `M${at.map((point) => point.join(',')).join('L')}`}),
        series.shape ?
            series.points.map(
                ({us, label}, index) =>
                    mark(series, ...at[index], `${series.name}, ${label}: ${microseconds(us)}`)) :
            null);
  }

  // series: [{name, kind, shape: square | circle | triangle | null, points: [{size, us, label}]}],
  // points by size. `name`: of the axis of sizes.
  function sweepChart(series, name) {
    const points = series.flatMap((one) => one.points);
    const sizes = [...new Set(points.map((point) => point.size))].sort((a, b) => a - b);
    const xs = range(sizes);
    const ys = range(points.map((point) => point.us));
    const place = element('div', {});
    whenSized(place, (width) => {
      const axis = axes(width, xs, ys, sizes, name);
      replace(
          place,
          drawing(
              width, height, `Times over ${name}`, axis.drawn,
              series.map((one) => drawSeries(axis, one))));
    });
    return place;
  }

  const legend = (series) => element(
      'p', {class: 'legend'},
      series.map(
          (one) => element(
              'span', {},
              svg('svg', {width: 34, height: 16, 'aria-hidden': 'true', class: 'sweep'},
                  svg('g', {class: `series ${one.kind}`},
                      svg('path', {class: 'line', d: 'M2,8L32,8'}),
                      one.shape ? mark(one, 17, 8, one.name) : null)),
              one.name)));

  ingot.sweepChart = {chart: sweepChart, legend};
})();
