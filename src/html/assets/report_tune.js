// The reports of `ingot tune`: other forms of each group with their times, or what a bound on
// registers does to each kernel.
(() => {
  const {element, table} = ingot.dom;
  const {bytes, integer, microseconds, percent} = ingot.format;
  const known = (value, show) => (value === null || value === undefined ? '–' : show(value));

  function fastest(group) {
    const timed = group.candidates.filter((candidate) => candidate.measured_us !== null);
    return timed.length === 0 ?
        null :
        timed.reduce((best, one) => (one.measured_us < best.measured_us ? one : best));
  }

  function kernel(group) {
    const best = fastest(group);
    const rows = group.candidates.map(
        (candidate) => [
            [
              candidate.cap === null ? 'no cap' : integer(candidate.cap),
              candidate === best ? element('span', {class: 'yes'}, ' fastest') : null
            ],
            integer(candidate.registers), bytes(candidate.spill_store_bytes),
            bytes(candidate.spill_load_bytes), bytes(candidate.stack_bytes),
            integer(candidate.instructions), integer(candidate.blocks_per_sm),
            `${percent(candidate.occupancy)} (${candidate.occupancy_limit})`,
            known(candidate.measured_us, microseconds)]);
    return element(
        'section', {class: 'card'}, element('h2', {}, group.kernel),
        group.obstacle ?
            element('p', {class: 'aside'}, group.obstacle) :
            element(
                'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': group.kernel},
                table(
                    [
                      'cap', 'registers', 'spills stored', 'spills loaded', 'stack', 'instructions',
                      'blocks', 'occupancy', 'measured'
                    ],
                    rows)));
  }

  const caps = (report) => ({
    title: `${report.graph}: register caps on ${report.device}`,
    sections: [
      element(
          'p', {class: 'aside'},
          'Spills and stack are bytes a thread. Higher occupancy is not faster by itself: where the device is here, the measured time decides.'),
      ...report.groups.map(kernel)
    ],
  });

  const timed = (name, found, kind, note) =>
      ({name, us: found.median, low: found.low, high: found.high, kind, note});

  function contest(group) {
    const rows = group.forms.map(
        (form) =>
            [form.form,
             form.state === 'chosen' ? element('span', {class: 'yes'}, 'chosen') : form.state,
             known(form.us.median, microseconds),
             form.us.low === null ? '–' :
                                    `${microseconds(form.us.low)} to ${microseconds(form.us.high)}`,
             known(form.predicted_us, microseconds), integer(form.us.samples),
             integer(form.kernels), form.problem ?? '']);
    return element(
        'section', {class: 'card contest'}, element('h2', {}, group.group),
        ingot.bars(group.forms.map(
            (form) => timed(
                form.form, form.us, form.state === 'chosen' ? 'measured' : 'predicted',
                form.problem ?? form.state))),
        element(
            'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': group.group},
            table(
                [
                  'form', 'state', 'median', 'interval of the median', 'predicted', 'samples',
                  'kernels', 'note'
                ],
                rows)),
        group.best_by_model ?
            element(
                'p', {class: 'aside'},
                `The model alone would take '${group.best_by_model.form}': ${
                    percent(group.best_by_model.over_fastest)} more than the fastest.`) :
            null);
  }

  function forms(report) {
    const {program} = report;
    const kept = report.entries === 0 ?
        `nothing to keep in ${report.database}` :
        `${report.entries} in ${report.database}; fusion auto follows them`;
    return {
      title: `${report.graph}: forms tried on ${report.device}`,
      sections: [
        element(
            'section', {class: 'card', id: 'verdict'},
            element('h2', {}, report.verdict ? 'Verdict' : 'Program'),
            report.verdict ? element('p', {class: 'lead'}, report.verdict) : null,
            element(
                'p', {class: 'aside'},
                `Entries: ${kept}. ${Math.round(report.seconds)} s of ${
                    Math.round(
                        report
                            .budget_seconds)} s; forms in turns, bars are medians, lines the interval of the median.`),
            ingot.bars([
              timed('separate', program.separate_us, 'predicted'),
              timed('as planned', program.planned_us, 'predicted'),
              timed('tuned', program.tuned_us, 'measured')
            ])),
        ...report.groups.map(contest)
      ],
    };
  }

  ingot.reports.tune = ({report}) => (report.program ? forms(report) : caps(report));
})();
