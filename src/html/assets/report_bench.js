// The report of `ingot bench`: the ways to run the program, side by side.
(() => {
  const { element, svg, drawing, text, replace, whenSized, table } = ingot.dom;
  const { bytes, integer, microseconds, significant } = ingot.format;
  const card = (id, title, ...content) => element('section', { class: 'card', id }, element('h2', {}, title), content);
  const VARIANTS = { separate_streams: 'separate, several streams', separate_graph: 'separate, one graph' };
  const named = (variant) => VARIANTS[variant] || variant.replace(/_/g, ' ');

  // A bar to the median, a line from the least to the most, and a dot for each sample where the
  // report has them.
  function bars(width, results, key) {
    const most = Math.max(...results.map((row) => row[key].max ?? row[key].median));
    const names = Math.min(200, width * 0.36);
    const room = width - names - 90;
    const x = (us) => names + (us / most) * room;
    return drawing(width, results.length * 44 + 4, 'Times', results.map((row, index) => {
      const y = index * 44;
      const { min, median, max } = row[key];
      return [
        text(0, y + 25, named(row.variant), {}),
        svg('rect', { class: `bar ${row.variant === 'fused' ? 'measured' : 'predicted'}`, x: names, y: y + 10, width: x(median) - names, height: 22, rx: 3 }),
        min !== null && max !== null ? svg('path', { class: 'whisker', d: `M${x(min)},${y + 21}L${x(max)},${y + 21}M${x(min)},${y + 15}L${x(min)},${y + 27}M${x(max)},${y + 15}L${x(max)},${y + 27}` }) : null,
        (row.samples && row.samples[key] ? row.samples[key] : []).map((us) => svg('circle', { class: 'sample', cx: x(us), cy: y + 21, r: 2 })),
        text(Math.min(x(max ?? median) + 8, width - 82), y + 25, microseconds(median), { class: 'bar-value' }),
      ];
    }));
  }

  function times(id, title, results, key) {
    const shown = results.filter((row) => row[key] && row[key].median !== null);
    if (shown.length === 0) return null;
    const place = element('div', {});
    whenSized(place, (width) => replace(place, bars(width, shown, key)));
    return card(id, title, place);
  }

  const spread = (times) => (times && times.median !== null ? `${microseconds(times.median)} (${microseconds(times.min)} to ${microseconds(times.max)})` : '–');

  function benchReport({ report }) {
    const { results } = report;
    const same = report.identical ? 'equal bit for bit' : `largest error ${significant(report.max_abs_error)} absolute, ${significant(report.max_rel_error)} relative`;
    const verdict = element('section', { class: 'card verdict-card', id: 'verdict' }, element('h2', {}, 'Verdict'), element('p', { class: 'lead' }, report.verdict),
      element('p', { class: 'aside' }, `Results: ${same}. ${integer(report.repeats)} runs of each way, in turns; bars are medians, lines go from the least to the most. ${report.caches ? `Caches ${report.caches}.` : ''} Copy in this run: ${significant(report.ceilings.copy_gbs)} GB/s.`));
    const rows = results.map((row) => [named(row.variant), spread(row.kernel_us), spread(row.end_to_end_us), bytes(row.bytes), row.gbs === null ? '–' : `${significant(row.gbs)} GB/s`, row.percent_of_copy === null ? '–' : `${significant(row.percent_of_copy)} %`, integer(row.launches)]);
    return {
      title: `${report.graph}: separate and fused on ${report.device}`,
      sections: [verdict, times('kernel', 'Time in kernels', results, 'kernel_us'), times('end-to-end', 'Time of a call, end to end', results, 'end_to_end_us'),
        card('table', 'Figures', element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Figures' }, table(['way', 'in kernels', 'end to end', 'bytes', 'rate', 'of copy', 'launches'], rows)))],
    };
  }

  ingot.reports.bench = benchReport;
})();
