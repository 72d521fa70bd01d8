// Times side by side: a bar to the median, a line over the range around it, a dot for each sample.
(() => {
  const {element, svg, drawing, text, replace, whenSized} = ingot.dom;
  const {microseconds} = ingot.format;
  const rowHeight = 44;
  const letterWidth = 7.6;

  // rows: [{ name, us, low, high, samples, kind: predicted | measured, note }]; low and high may be
  // null, and us too: nothing was measured, and the note says why.
  function draw(width, rows) {
    const most = Math.max(...rows.flatMap((row) => [row.us ?? 0, row.high ?? 0]), 1e-9);
    const names = Math.min(250, width * 0.38);
    const room = width - names - 90;
    const x = (us) => names + (us / most) * room;
    const letters = Math.floor(names / letterWidth);
    return drawing(
        width, rows.length * rowHeight + 4, 'Times',
        rows.map(({name, us, low, high, samples, kind, note}, index) => {
          const y = index * rowHeight;
          const title =
              svg('title', {},
                  [name, us === null ? null : microseconds(us), note].filter(Boolean).join(', '));
          const shown = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
          if (us === null)
            return svg(
                'g', {}, title, text(0, y + 25, shown, {}),
                text(names, y + 25, note, {class: 'axis'}));
          return svg(
              'g', {}, title, text(0, y + 25, shown, {}), svg('rect', {
                class: `bar ${kind}`,
                x: names,
                y: y + 10,
                width: Math.max(1, x(us) - names),
                height: 22,
                rx: 3
              }),
              low !== null && high !== null ? svg('path', {
                class: 'whisker',
                d: `M${x(low)},${y + 21}L${x(high)},${y + 21}M${x(low)},${y + 15}L${x(low)},${
                    y + 27}M${x(high)},${y + 15}L${x(high)},${y + 27}`
              }) :
                                              null,
              (samples || [])
                  .map(
                      (sample) =>
                          svg('circle', {class: 'sample', cx: x(sample), cy: y + 21, r: 2})),
              text(
                  Math.min(x(Math.max(us, high ?? 0)) + 8, width - 82), y + 25, microseconds(us),
                  {class: 'bar-value'}));
        }));
  }

  function bars(rows) {
    const place = element('div', {});
    whenSized(place, (width) => replace(place, draw(width, rows)));
    return place;
  }

  ingot.bars = bars;
})();
