// What the report of `ingot explain --json` says about its kernels, for drawing: each group with
// the separate kernels of its ops.
(() => {
  // Rates in GFLOP/s: flops / us / 1000.
  const rate = (flops, us) => (us > 0 ? flops / us / 1e3 : 0);

  const of = (list, name) => list.reduce((sum, item) => sum + item[name], 0);

  // A separate kernel belongs to the group that computes all its ops.
  function separateOf(group, separate) {
    const ops = new Set(group.ops);
    return separate.filter(
        (kernel) => kernel.ops.length > 0 && kernel.ops.every((name) => ops.has(name)));
  }

  function kernels(report) {
    const separate = report.separate_groups || [];
    const model = report.device_model;
    const parts = report.groups.map((group) => {
      const apart = separateOf(group, separate);
      const bytes = group.bytes_read + group.bytes_written + group.bytes_workspace;
      const us = group.measured_us === null ? group.predicted_us : group.measured_us;
      const point = (flops, moved, time) =>
          ({x: moved > 0 ? flops / moved : 0, y: rate(flops, time), flops, bytes: moved, us: time});
      return {
        group,
        bytes,
        us,
        measured: group.measured_us !== null,
        compute: group.kind === 'contraction' ? model.product_gflops : model.f32_gflops,
        fused: point(group.flops, bytes, us),
        separate: apart.length > 0 ?
            point(of(apart, 'flops'), of(apart, 'bytes'), of(apart, 'predicted_us')) :
            null,
        kernelsApart: apart.length,
      };
    });
    return {parts, model, measured: parts.some((part) => part.measured)};
  }

  ingot.kernels = kernels;
})();
