// How many blocks a multiprocessor holds: occupancy() of src/plan/device_model.cpp, step by step.
// Device models and constants come from the program; tests/html compares both on a grid.
(() => {
  const whole = Math.trunc;

  // device: a row of `ingot devices --json`; rules: { warp_threads, register_partitions,
  // block_reserve_bytes }.
  function occupancy(device, rules, threads, registers, shared) {
    const none =
        {blocks: 0, occupancy: 0, limit: '', by: {threads: 0, blocks: 0, registers: 0, shared: 0}};
    if (device.kind !== 'gpu' || threads <= 0) return {...none, warps: 0, perWarp: 0};
    const warps = whole((threads + rules.warp_threads - 1) / rules.warp_threads);
    // Registers are handed out to whole warps, within a part of the multiprocessor.
    const unit = device.register_allocation;
    const perWarp =
        Math.max(unit, whole((registers * rules.warp_threads + unit - 1) / unit) * unit);
    const warpsByRegisters =
        whole(whole(device.registers_per_sm / rules.register_partitions) / perWarp) *
        rules.register_partitions;
    const mostWarps = whole(device.max_threads_per_sm / rules.warp_threads);
    const by = {
      threads: whole(mostWarps / warps),
      blocks: device.max_blocks_per_sm,
      registers: whole(warpsByRegisters / warps),
      shared: shared > device.shared_per_block ?
          0 :
          whole(device.shared_per_sm / (shared + rules.block_reserve_bytes)),
    };
    // Of equal limits the first in this order is named.
    const limit = Object.keys(by).reduce((least, name) => (by[name] < by[least] ? name : least));
    const blocks = by[limit];
    return {
      blocks,
      occupancy: (blocks * warps) / mostWarps,
      limit,
      by,
      warps,
      perWarp,
      mostWarps,
      warpsByRegisters
    };
  }

  ingot.occupancy = occupancy;
})();
