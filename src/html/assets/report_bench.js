// The report of `ingot bench`: the ways to run the program, side by side.
(() => {
  const {element, table} = ingot.dom;
  const {bytes, integer, microseconds, significant} = ingot.format;
  const card = (id, title, ...content) =>
      element('section', {class: 'card', id}, element('h2', {}, title), content);
  const VARIANTS = {separate_streams: 'separate, several streams'};
  const named = (variant) => VARIANTS[variant] || variant;

  function times(id, title, results, key) {
    const shown = results.filter((row) => row[key] && row[key].median !== null);
    if (shown.length === 0) return null;
    return card(
        id, title, ingot.bars(shown.map((row) => ({
                                          name: named(row.variant),
                                          us: row[key].median,
                                          low: row[key].min,
                                          high: row[key].max,
                                          samples: row.samples && row.samples[key],
                                          kind: row.variant === 'fused' ? 'measured' : 'predicted'
                                        }))));
  }

  const spread = (times) =>
      (times && times.median !== null ?
           `${microseconds(times.median)} (${microseconds(times.min)} to ${
               microseconds(times.max)})` :
           '–');

  function benchReport({report}) {
    const {results} = report;
    const same = report.identical ? 'equal bit for bit' :
                                    `largest error ${significant(report.max_abs_error)} absolute, ${
                                        significant(report.max_rel_error)} relative`;
    const verdict = element(
        'section', {class: 'card verdict-card', id: 'verdict'}, element('h2', {}, 'Verdict'),
        element('p', {class: 'lead'}, report.verdict),
        element(
            'p', {class: 'aside'},
            `Results: ${same}. ${
                integer(
                    report
                        .repeats)} runs of each way, in turns; bars are medians, lines go from the least to the most. ${
                report.caches ?
                    `Caches ${report.caches}.` :
                    ''} Copy in this run: ${significant(report.ceilings.copy_gbs)} GB/s.`));
    const rows = results.map(
        (row) =>
            [named(row.variant), spread(row.kernel_us), spread(row.end_to_end_us), bytes(row.bytes),
             row.gbs === null ? '–' : `${significant(row.gbs)} GB/s`,
             row.percent_of_copy === null ? '–' : `${significant(row.percent_of_copy)} %`,
             integer(row.launches)]);
    return {
      title: `${report.graph}: separate and fused on ${report.device}`,
      sections: [
        verdict, times('kernel', 'Time in kernels', results, 'kernel_us'),
        times('end-to-end', 'Time of a call, end to end', results, 'end_to_end_us'),
        card(
            'table', 'Figures',
            element(
                'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Figures'},
                table(
                    ['way', 'in kernels', 'end to end', 'bytes', 'rate', 'of copy', 'launches'],
                    rows)))
      ],
    };
  }

  ingot.reports.bench = benchReport;
  ingot.benchVariant = named;
})();
