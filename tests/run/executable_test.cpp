// Programs whose kernels are written here by hand: what runs is only compilation and the run
// itself.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "run/run.h"
#include "run/thread_pool.h"
#include "support/errors.h"

namespace ingot {
namespace {

using testing::message_of;

// As the emitter writes it.
constexpr const char* prelude = R"(
struct KernelCall {
  void* const* buffers; const long* sizes; char* scratch; long begin, end; int* report;
  void (*product)(const KernelCall*, const char*, const long*, const void*, const void*, void*);
  const void* runtime;
};
)";

struct Phase {
  const char* body;  // with call in scope
  Sym extent;
  int64_t grain = 1;
};

// A kernel from its phases' bodies; buffers are named b0, b1, … as float.
KernelSource kernel(const std::string& name, std::vector<ParamSource> params,
                    std::vector<std::string> sizes, const std::vector<Phase>& phases) {
  KernelSource source;
  source.name = name;
  source.params = std::move(params);
  source.sizes = std::move(sizes);
  source.scratch_bytes = 64;
  for (size_t p = 0; p < phases.size(); ++p) {
    const std::string symbol = fmt::format("{}_{}", name, p);
    source.text += fmt::format("extern \"C\" void {}(const KernelCall* call) {{\n", symbol);
    for (size_t b = 0; b < source.params.size(); ++b) {
      source.text += fmt::format("  float* b{} = (float*)call->buffers[{}]; (void)b{};\n", b, b, b);
    }
    source.text += fmt::format("{}\n}}\n", phases[p].body);
    source.phases.push_back({symbol, phases[p].extent, phases[p].grain});
  }
  return source;
}

ParamSource reads(NodeId node) { return {"in", node, false, false, 0}; }
ParamSource writes(NodeId node) { return {"out", node, true, false, 0}; }
ParamSource workspace(Sym bytes) { return {"work", -1, true, true, std::move(bytes)}; }

struct GroupOf {
  std::vector<NodeId> nodes, inputs, outputs;
  std::vector<KernelSource> variants;
  std::vector<Schedule> schedules = {Schedule{}};
};

Executable build(const Graph& graph, const std::vector<GroupOf>& groups, int threads) {
  Plan plan;
  plan.graph_name = graph.name;
  std::vector<std::vector<KernelSource>> sources;
  std::string text = prelude;
  for (const GroupOf& group : groups) {
    for (const KernelSource& source : group.variants) text += source.text;
  }
  const std::vector<Library> libraries = compile({{"by_hand", text}}, {});
  for (const GroupOf& from : groups) {
    Group& group = plan.groups.emplace_back();
    group.id = static_cast<int>(plan.groups.size()) - 1;
    group.name = from.variants[0].name;
    group.nodes = from.nodes;
    group.inputs = from.inputs;
    group.outputs = from.outputs;
    group.schedules = from.schedules;
    sources.push_back(from.variants);
  }
  const auto load = [library = libraries[0]](const std::vector<const KernelSource*>& wanted) {
    std::vector<LoadedKernel> kernels;
    for (const KernelSource* source : wanted) kernels.push_back(loaded_kernel(*source, library));
    return kernels;
  };
  return Executable(graph, plan, std::move(sources), load, threads);
}

Tensor iota_tensor(std::vector<int64_t> shape) {
  Tensor tensor(DType::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, static_cast<double>(i));
  return tensor;
}

// t = x + x; y = -t, as two kernels with an intermediate.
struct TwoGroups {
  Graph graph;
  NodeId x, t, y;

  TwoGroups() {
    GraphBuilder builder("two");
    x = builder.input("x", DType::f32, {Sym::var("B"), 8});
    t = builder.add(Op::add, {x, x}, {}, "t");
    y = builder.add(Op::neg, {t}, {}, "y");
    builder.output(y, "y");
    graph = builder.take();
  }
  std::vector<GroupOf> groups() const {
    const Sym rows = Sym::var("B");
    return {
        {{t},
         {x},
         {t},
         {kernel("twice", {reads(x), writes(t)}, {"B"},
                 {{"for (long i = 8 * call->begin; i < 8 * call->end; ++i) b1[i] = b0[i] + b0[i];",
                   rows}})}},
        {{y},
         {t},
         {y},
         {kernel(
             "negated", {reads(t), writes(y)}, {"B"},
             {{"for (long i = 8 * call->begin; i < 8 * call->end; ++i) b1[i] = -b0[i];", rows}})}}};
  }
};

TEST(Executable, RunsGroupsInOrderForAnyNumberOfRowsAndThreads) {
  const TwoGroups program;
  for (const int threads : {1, 2, 3}) {
    const Executable executable = build(program.graph, program.groups(), threads);
    for (const int64_t rows : {1, 7, 3, 1000, 0}) {
      const Tensor x = iota_tensor({rows, 8});
      Tensor y(DType::f32, {rows, 8});
      executable.run({view(x)}, {view(y)});
      for (int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.get_f64(i), -2.0 * static_cast<double>(i));
      EXPECT_EQ(executable.output_shapes({{rows, 8}}),
                (std::vector<std::vector<int64_t>>{{rows, 8}}));
    }
  }
}

TEST(Executable, TakesStridedUnalignedAndOverlappingTensors) {
  const TwoGroups program;
  const Executable executable = build(program.graph, program.groups(), 2);
  const Tensor columns = iota_tensor({8, 5});
  Tensor rows(DType::f32, {5, 16});
  TensorView x = view(columns), y = view(rows);
  x.shape = {5, 8}, x.strides = {1, 5};
  y.shape = {5, 8}, y.strides = {16, 2};
  executable.run({x}, {y});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 8; ++j) {
      EXPECT_EQ(rows.get_f64(i * 16 + 2 * j), -2.0 * static_cast<double>(j * 5 + i));
      EXPECT_EQ(rows.get_f64(i * 16 + 2 * j + 1), 0) << "a gap";
    }
  }
  // At a byte offset no float may have.
  std::vector<std::byte> bytes(5 * 8 * 4 + 1);
  const Tensor in = iota_tensor({5, 8});
  std::memcpy(bytes.data() + 1, in.data(), 160);
  const TensorView odd{bytes.data() + 1, DType::f32, {5, 8}, {}};
  executable.run({odd}, {odd});  // and in place
  for (int i = 0; i < 40; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 1 + 4 * i, 4);
    EXPECT_EQ(value, -2.0F * static_cast<float>(i));
  }
  // Shifted by one row: written after everything is read.
  Tensor shifted = iota_tensor({6, 8});
  const TensorView from{shifted.data(), DType::f32, {5, 8}, {}};
  const TensorView to{shifted.data() + 32, DType::f32, {5, 8}, {}};
  executable.run({from}, {to});
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(shifted.get_f64(8 + i), -2.0 * static_cast<double>(i));
}

TEST(Executable, OutputsMayRepeatAValueOrBeAnInputOrAConstant) {
  GraphBuilder builder("repeated");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B")});
  const NodeId w = builder.constant(iota_tensor({3}), "w");
  const NodeId y = builder.add(Op::neg, {x}, {}, "y");
  for (const NodeId output : {y, x, w, y}) builder.output(output);
  const Graph graph = builder.take();
  const Executable executable = build(
      graph,
      {{{y},
        {x},
        {y},
        {kernel(
            "negate", {reads(x), writes(y)}, {},
            {{"for (long i = call->begin; i < call->end; ++i) b1[i] = -b0[i];", Sym::var("B")}})}}},
      1);
  Tensor x0 = iota_tensor({4}), again(DType::f32, {4}), w0(DType::f32, {3}), y1(DType::f32, {4});
  // The first output in place of the input that the second one returns.
  executable.run({view(x0)}, {view(x0), view(again), view(w0), view(y1)});
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(x0.get_f64(i), -static_cast<double>(i));
    EXPECT_EQ(y1.get_f64(i), -static_cast<double>(i));
    EXPECT_EQ(again.get_f64(i), static_cast<double>(i));
  }
  EXPECT_EQ(w0.get_f64(2), 2);
}

TEST(Executable, ChoosesTheFirstVariantWhoseGuardsAndAlignmentHold) {
  GraphBuilder builder("variants");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B")});
  const NodeId y = builder.add(Op::neg, {x}, {}, "y");
  builder.output(y);
  const Graph graph = builder.take();
  const auto variant = [&](const std::string& name, const char* body) {
    return kernel(name, {reads(x), writes(y)}, {}, {{body, Sym::var("B")}});
  };
  GroupOf group{{y},
                {x},
                {y},
                {variant("many", "for (long i = call->begin; i < call->end; ++i) b1[i] = 1;"),
                 variant("aligned", "for (long i = call->begin; i < call->end; ++i) b1[i] = 2;"),
                 variant("any", "for (long i = call->begin; i < call->end; ++i) b1[i] = 3;")},
                {}};
  group.variants[1].needs_alignment = true;
  Schedule many;
  many.guards.push_back({Sym::var("B"), 100});
  group.schedules = {many, Schedule{}, Schedule{}};
  const Executable executable = build(graph, {group}, 1);
  Tensor in(DType::f32, {200}), out(DType::f32, {201});
  const auto variant_of = [&](int64_t rows, int64_t offset) {
    std::vector<GroupTiming> timings;
    executable.run({{in.data(), DType::f32, {rows}, {}}},
                   {{out.data() + 4 * offset, DType::f32, {rows}, {}}}, &timings);
    EXPECT_EQ(timings.size(), 1U);
    EXPECT_GE(timings[0].us, 0);
    EXPECT_EQ(out.get_f64(offset), timings[0].variant + 1);
    return timings[0].variant;
  };
  EXPECT_EQ(variant_of(100, 0), 0);
  EXPECT_EQ(variant_of(99, 0), 1);
  EXPECT_EQ(variant_of(99, 1), 2);
  EXPECT_EQ(variant_of(100, 1), 0);
}

TEST(Executable, PhasesSeeEarlierOnesAndWorkspacesAndScratch) {
  GraphBuilder builder("sums");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B"), Sym::var("N")});
  const NodeId y = builder.add(Op::sum, {x}, {{"dims", std::vector<Sym>{0, 1}}}, "y");
  builder.output(y);
  const Graph graph = builder.take();
  const KernelSource source =
      kernel("sum_all", {reads(x), writes(y), workspace(Sym(4) * Sym::var("B"))}, {"N", "B"},
             {{R"(  float* partial = (float*)call->scratch;
  for (long i = call->begin; i < call->end; ++i) {
    *partial = 0;
    for (long j = 0; j < call->sizes[0]; ++j) *partial += b0[i * call->sizes[0] + j];
    b2[i] = *partial;
  })",
               Sym::var("B")},
              {R"(  float total = 0;
  for (long i = 0; i < call->sizes[1]; ++i) total += b2[i];
  b1[0] = total;)",
               1}});
  for (const int threads : {1, 2}) {
    const Executable executable = build(graph, {{{y}, {x}, {y}, {source}}}, threads);
    const Tensor in = iota_tensor({40, 10});
    Tensor out(DType::f32, {});
    executable.run({view(in)}, {view(out)});
    EXPECT_EQ(out.get_f64(0), 400 * 399 / 2);
    const Tensor empty(DType::f32, {0, 10});
    executable.run({view(empty)}, {view(out)});
    EXPECT_EQ(out.get_f64(0), 0) << "the identity is written for an empty tensor";
  }
}

TEST(Executable, AReportIsAnErrorAndTheProgramStaysUsable) {
  GraphBuilder builder("reporting");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B")});
  const NodeId y = builder.add(Op::neg, {x}, {}, "y");
  builder.output(y);
  const Graph graph = builder.take();
  KernelSource source = kernel("checked", {reads(x), writes(y)}, {},
                               {{R"(  for (long i = call->begin; i < call->end; ++i) {
    if (b0[i] == 13) *call->report = 2;
    b1[i] = -b0[i];
  })",
                                 Sym::var("B")}});
  source.reports = {"never", "gather ids: index 13 out of range [0, 13)"};
  const Executable executable = build(graph, {{{y}, {x}, {y}, {source}}}, 2);
  const Tensor bad = iota_tensor({20}), good = iota_tensor({13});
  Tensor out(DType::f32, {20});
  EXPECT_EQ(message_of([&] { executable.run({view(bad)}, {view(out)}); }),
            "gather ids: index 13 out of range [0, 13)");
  executable.run({view(good)}, {{out.data(), DType::f32, {13}, {}}});
  EXPECT_EQ(out.get_f64(12), -12);
}

TEST(Executable, CallsProductsAndPassesTheirErrorsOn) {
  GraphBuilder builder("product");
  const NodeId a = builder.input("a", DType::f32, {2, 3});
  const NodeId b = builder.input("b", DType::f32, {3, 2});
  const NodeId y = builder.add(Op::matmul, {a, b}, {}, "y");
  builder.output(y);
  const Graph graph = builder.take();
  const auto program = [&](const char* body) {
    return build(
        graph,
        {{{y}, {a, b}, {y}, {kernel("product", {reads(a), reads(b), writes(y)}, {}, {{body, 1}})}}},
        1);
  };
  const Tensor left = iota_tensor({2, 3}), right = iota_tensor({3, 2});
  Tensor out(DType::f32, {2, 2});
  program(R"(  const long sizes[] = {2, 2, 3, 3, 2, 2, 0, 0};
  call->product(call, "matmul.f32", sizes, b0, b1, b2);)")
      .run({view(left), view(right)}, {view(out)});
  EXPECT_EQ(out.get_f64(0), 0 * 0 + 1 * 2 + 2 * 4);
  EXPECT_EQ(out.get_f64(3), 3 * 1 + 4 * 3 + 5 * 5);
  const std::string message = message_of(
      [&] {
        program("  call->product(call, \"divide.f32\", call->sizes, b0, b1, b2);")
            .run({view(left), view(right)}, {view(out)});
      },
      ErrorKind::internal);
  EXPECT_NE(message.find("no product routine 'divide.f32'"), std::string::npos) << message;
}

TEST(Executable, SaysWhatIsWrongWithACall) {
  const TwoGroups program;
  const Executable executable = build(program.graph, program.groups(), 1);
  const Tensor x = iota_tensor({3, 8}), integers(DType::i32, {3, 8});
  Tensor y(DType::f32, {3, 8}), short_y(DType::f32, {2, 8});
  EXPECT_EQ(message_of([&] { executable.run({}, {view(y)}); }),
            "two takes 1 input and 1 output, got 0 and 1");
  EXPECT_EQ(message_of([&] { executable.run({view(integers)}, {view(y)}); }),
            "x: expected f32, got i32");
  EXPECT_EQ(message_of([&] { executable.run({view(x)}, {view(short_y)}); }),
            "y: expected [3, 8], got [2, 8]");
  TensorView repeated = view(y);
  repeated.strides = {0, 1};
  EXPECT_EQ(message_of([&] { executable.run({view(x)}, {repeated}); }),
            "y: an output cannot have stride 0 (dimension 0 of [3, 8])");
  repeated.strides = {4, 1};
  EXPECT_EQ(message_of([&] { executable.run({view(x)}, {repeated}); }),
            "y: elements of an output share memory: shape [3, 8], strides [4, 1]");
  repeated.strides = {1};
  EXPECT_EQ(message_of([&] { executable.run({view(x)}, {repeated}); }),
            "y: 1 strides for shape [3, 8]");
  TensorView nowhere = view(x);
  nowhere.data = nullptr;
  EXPECT_EQ(message_of([&] { executable.run({nowhere}, {view(y)}); }), "x: no memory given");
  const Tensor wide(DType::f32, {3, 9});
  EXPECT_NE(message_of([&] { executable.run({view(wide)}, {view(y)}); }), "");
  executable.run({view(x)}, {view(y)});
  EXPECT_EQ(y.get_f64(23), -46);
}

TEST(Executable, SeveralThreadsMayRunAtOnce) {
  const TwoGroups program;
  const Executable executable = build(program.graph, program.groups(), 2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int64_t caller = 1; caller <= 3; ++caller) {
    callers.emplace_back([&, caller] {
      const Tensor x = iota_tensor({100 * caller, 8});
      Tensor y(DType::f32, {100 * caller, 8});
      for (int repeat = 0; repeat < 50; ++repeat) {
        executable.run({view(x)}, {view(y)});
        for (int64_t i = 0; i < y.size(); ++i) {
          wrong += y.as<float>()[i] != -2.0F * static_cast<float>(i);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

#if defined(__x86_64__)
TEST(Executable, LeavesTheCallersFlushModesAndComputesWithItsOwn) {
  const TwoGroups program;
  const Executable executable = build(program.graph, program.groups(), 1);
  Tensor x(DType::f32, {1, 8}), y(DType::f32, {1, 8});
  for (int i = 0; i < 8; ++i) x.as<float>()[i] = 0x1p-140F;
  const unsigned saved = __builtin_ia32_stmxcsr(), flushing = saved | 0x8040;
  __builtin_ia32_ldmxcsr(flushing);
  executable.run({view(x)}, {view(y)});
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved);
  EXPECT_EQ(after & 0xffc0, flushing & 0xffc0);
  EXPECT_EQ(y.as<float>()[0], -0x1p-139F);
}
#endif

// Work that is done sooner than a worker is awake; calls in a row add up.
TEST(Executable, ASmallRunLetsThePoolSleep) {
  GraphBuilder builder("one");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B")});
  const NodeId y = builder.add(Op::neg, {x}, {}, "y");
  builder.output(y, "y");
  const GroupOf group{{y},
                      {x},
                      {y},
                      {kernel("negated", {reads(x), writes(y)}, {"B"},
                              {{"for (long i = call->begin; i < call->end; ++i) b1[i] = -b0[i];",
                                Sym::var("B"), 2}})}};
  const Executable executable = build(builder.take(), {group}, 2);
  const std::shared_ptr<ThreadPool> pool = shared_thread_pool(2);
  auto asleep = [&] {
    for (int wait = 0; wait < 2000 && !pool->asleep(); ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return pool->asleep();
  };
  auto run = [&](int64_t elements) {
    const Tensor input = iota_tensor({elements});
    Tensor output(DType::f32, {elements});
    executable.run({view(input)}, {view(output)});
    for (int64_t i = 0; i < elements; ++i) ASSERT_EQ(output.get_f64(i), -static_cast<double>(i));
  };
  ASSERT_TRUE(asleep());
  run(20);
  EXPECT_TRUE(pool->asleep());
  bool awake = false;  // for half a millisecond after each of these
  for (int attempt = 0; attempt < 100 && !awake; ++attempt) {
    run(2000);
    awake = !pool->asleep();
  }
  EXPECT_TRUE(awake);
  ASSERT_TRUE(asleep());
  awake = false;  // a run is not worth it, twenty of them in a row are
  for (int call = 0; call < 20000 && !awake; ++call) {
    run(4);
    awake = !pool->asleep();
  }
  EXPECT_TRUE(awake);
}

// Printed, not asserted: the machine may be busy.
// Every pair of tensors compared would take seconds.
TEST(Executable, ACallWithManyTensorsComparesNotEveryPair) {
  constexpr int count = 20000;
  GraphBuilder builder("many");
  for (int i = 0; i < count; ++i) {
    const std::string name = "x" + std::to_string(i);
    builder.output(builder.input(name, DType::f32, {}), "y" + std::to_string(i));
  }
  const Executable executable = build(builder.take(), {}, 1);
  std::vector<float> x(count, 3), y(count);
  std::vector<TensorView> inputs, outputs;
  for (size_t i = 0; i < count; ++i) {
    inputs.push_back({&x[i], DType::f32, {}, {}});
    outputs.push_back({&y[count - 1 - i], DType::f32, {}, {}});
  }
  executable.run(inputs, outputs);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    executable.run(inputs, outputs);
    const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
    best = std::min(best, s.count());
  }
  EXPECT_EQ(y, x);
  EXPECT_LT(best, 0.25);
  outputs[7].data = outputs[count - 2].data;
  EXPECT_THROW(executable.run(inputs, outputs), Error);
}

TEST(Executable, HostTimeOfASmallCall) {
  const TwoGroups program;
  for (const int threads : {1, 2}) {
    const Executable executable = build(program.graph, program.groups(), threads);
    const Tensor x = iota_tensor({4, 8});
    Tensor y(DType::f32, {4, 8});
    const std::vector<TensorView> inputs = {view(x)}, outputs = {view(y)};
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int repeat = 0; repeat < 100; ++repeat) executable.run(inputs, outputs);
      const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
      best = std::min(best, us.count() / 100);
    }
    std::printf("two small kernels on %d threads: %.2f us a call\n", threads, best);
  }
}

}  // namespace
}  // namespace ingot
