// The report of `ingot bench --sweep`: times over sizes.
(() => {
  const {element, table} = ingot.dom;
  const {bytes, microseconds, significant} = ingot.format;
  const card = (id, title, ...content) =>
      element('section', {class: 'card', id}, element('h2', {}, title), content);
  const WAYS = [
    {key: 'separate', kind: 'separate', shape: 'square'},
    {key: 'fused', kind: 'fused', shape: 'circle'},
    {key: 'separate_streams', kind: 'streams', shape: 'triangle'},
    {key: 'library', kind: 'library', shape: 'triangle'}
  ];
  const sizeText = (report, names) =>
      names.map((name) => `${name} = ${report.dims[name]}`).join(', ');
  const timeOf = (report, way) => {
    const result = report.results.find((one) => one.variant === way);
    return result ? result.kernel_us.median : null;
  };
  const copyTime = ({ceilings}) =>
      ceilings.copy_gbs > 0 ? ceilings.copy_bytes / ceilings.copy_gbs / 1e3 : null;

  // Over the size that changes; over bytes where several do, or one is 0.
  function seriesOf(reports, names) {
    const bySize = names.length === 1 && reports.every((report) => report.dims[names[0]] > 0);
    const size = (report) => bySize ? report.dims[names[0]] : report.ceilings.copy_bytes;
    const points = (time) =>
        reports
            .map(
                (report) =>
                    ({size: size(report), us: time(report), label: sizeText(report, names)}))
            .filter(({size: at, us}) => at > 0 && us > 0)
            .sort((a, b) => a.size - b.size);
    const ways = WAYS.map((way) => ({
                            ...way,
                            name: ingot.benchVariant(way.key),
                            points: points((report) => timeOf(report, way.key))
                          }));
    const copy = {kind: 'copy', shape: null, name: 'a copy of the same bytes'};
    copy.points = points(copyTime);
    return {
      series: [copy, ...ways].filter((one) => one.points.length > 0),
      axis: bySize ? names[0] : 'bytes of the fused program'
    };
  }

  function rows(reports, names, ways) {
    return reports.map((report) => {
      const [, fused] = report.results;
      const share = fused.percent_of_copy;
      return [
        ...names.map((name) => String(report.dims[name])), ...ways.map((way) => {
          const us = timeOf(report, way);
          return us === null ? '–' : microseconds(us);
        }),
        report.same_kernels ? 'same' : significant(report.speedup.kernel), bytes(fused.bytes),
        `${significant(fused.gbs)} GB/s`, share === null ? '–' : `${significant(share)} %`,
        report.limit.resource || '–'
      ];
    });
  }

  function sweepReport({report}) {
    const {sweep: reports, swept: names} = report;
    const {series, axis} = seriesOf(reports, names);
    const ways =
        WAYS.map(({key}) => key).filter((key) => reports.some((one) => timeOf(one, key) !== null));
    const differing = reports.filter((one) => !one.identical);
    const results = differing.length === 0 ?
        'equal bit for bit at every size' :
        `not equal at ${differing.map((one) => sizeText(one, names)).join('; ')}`;
    return {
      title: `${report.graph}: separate and fused at ${reports.length} sizes on ${report.device}`,
      sections: [
        element(
            'section', {class: 'card verdict-card', id: 'verdict'}, element('h2', {}, 'Verdict'),
            element('p', {class: 'lead'}, report.verdict),
            element(
                'p', {class: 'aside'},
                `Results: ${results}. Times are medians in kernels, the ways in turns.`)),
        ingot.benchComparison(report),
        series.length > 0 ? card(
                                'chart', `Times over ${axis}`, ingot.sweepChart.chart(series, axis),
                                ingot.sweepChart.legend(series)) :
                            null,
        card(
            'table', 'Figures',
            element(
                'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Figures'},
                table(
                    [
                      ...names, ...ways.map(ingot.benchVariant), 'speedup', 'bytes', 'rate',
                      'of copy', 'limited by'
                    ],
                    rows(reports, names, ways))))
      ]
    };
  }

  ingot.reports.sweep = sweepReport;
})();
