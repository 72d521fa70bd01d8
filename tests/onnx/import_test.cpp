// Files as a whole: names, sizes, shape arithmetic, constants, errors. Single ops: ops_test.cpp.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "onnx/model_builder.h"
#include "support/values.h"

namespace ingot::testing {
namespace {

Error error_of(const std::string& bytes, const std::string& path = "test.onnx") {
  try {
    import_onnx_bytes(bytes, path);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "no error");
}

Error error_of(const Model& model) { return error_of(model.proto.SerializeAsString()); }

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

std::string type_of_output(const Graph& graph) { return type_text(graph[graph.outputs[0]].type); }

// --- names and sizes

TEST(OnnxImport, NamesAreTheFiles) {
  Graph g = Model(13)
                .input("in:0", DType::f32, {"batch", 4})
                .initializer("w/kernel", tensor(DType::f32, {4}, {1, 2, 3, 4}))
                .node("Mul", {"in:0", "w/kernel"}, {"scope/mul:0"}, {}, "scope/Mul")
                .node("Relu", {"scope/mul:0"}, {"out"})
                .output("out")
                .import();
  EXPECT_EQ(g[g.inputs[0]].name, "in:0");
  EXPECT_EQ(g.output_names[0], "out");
  EXPECT_EQ(g.nodes[1].name, "w/kernel");
  EXPECT_EQ(g.nodes[2].name, "scope/mul:0");
  EXPECT_EQ(g.nodes[2].location.node, "scope/Mul");
  EXPECT_EQ(type_of_output(g), "f32[batch, 4]");
  Graph parsed = parse_graph(print(g), "<text>");
  EXPECT_EQ(print(parsed), print(g));
}

TEST(OnnxImport, SizesWithoutANameGetTheInputs) {
  Graph g =
      Model(13).input("x", DType::f32, {"", 3}).node("Relu", {"x"}, {"y"}).output("y").import();
  EXPECT_EQ(type_of_output(g), "f32[x_0, 3]");
}

TEST(OnnxImport, SizesThatHaveToBeEqualBecomeOne) {
  Graph g = Model(13)
                .input("a", DType::f32, {"batch_a", 4})
                .input("b", DType::f32, {"batch_b", 4})
                .node("Add", {"a", "b"}, {"s"})
                .node("Shape", {"b"}, {"shape"})
                .node("Reshape", {"s", "shape"}, {"y"})
                .output("y")
                .import();
  EXPECT_EQ(size_names(g), std::vector<std::string>{"batch_a"});
  EXPECT_EQ(type_of_output(g), "f32[batch_a, 4]");
}

TEST(OnnxImport, EveryOpset) {
  for (int opset = 7; opset <= 23; ++opset) {
    Graph g =
        Model(opset).input("x", DType::f32, {2}).node("Tanh", {"x"}, {"y"}).output("y").import();
    EXPECT_EQ(g.nodes[1].op, Op::tanh) << opset;
  }
  for (int opset : {0, 6, 24}) {
    Error error =
        error_of(Model(opset).input("x", DType::f32, {2}).node("Tanh", {"x"}, {"y"}).output("y"));
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    expect_contains(error.message(), fmt::format("opset {}; supported: 7 to 23", opset));
  }
}

TEST(OnnxImport, EveryElementwiseRowHasItsOnnxName) {
  for (const OpInfo& info : all_ops()) {
    if (info.category != Category::elementwise || info.onnx.empty()) continue;
    std::string name(info.onnx.substr(0, info.onnx.find(' ')));
    if (name == "Cast") continue;  // needs `to`
    DType dtype = accepts(info.operands, DType::f32)   ? DType::f32
                  : accepts(info.operands, DType::i32) ? DType::i32
                                                       : DType::boolean;
    Model model(21);
    std::vector<std::string> inputs;
    for (int i = 0; i < info.min_operands; ++i) {
      inputs.push_back(fmt::format("x{}", i));
      model.input(inputs.back(), name == "Where" && i == 0 ? DType::boolean : dtype, {"N"});
    }
    Graph g = model.node(name, inputs, {"y"}).output("y").import();
    EXPECT_EQ(op_name(g[g.outputs[0]].op), info.name);
  }
}

// --- shape arithmetic

TEST(OnnxImport, ShapeArithmeticBecomesNames) {
  // [batch, seq, 12] → [batch, seq, heads, 12 / heads] → back, as exporters write it.
  Graph g = Model(13)
                .input("x", DType::f32, {"batch", "seq", 12})
                .integers("i0", {0})
                .integers("i1", {1})
                .integers("i2", {2})
                .integers("i3", {3})
                .integers("heads", {4})
                .node("Shape", {"x"}, {"shape"})
                .node("Slice", {"shape", "i0", "i1"}, {"batch"})
                .node("Gather", {"shape", "i1"}, {"seq"})
                .node("Gather", {"shape", "i2"}, {"width"})
                .node("Div", {"width", "heads"}, {"head"})
                .node("Concat", {"batch", "seq", "heads", "head"}, {"split"}, {Attr("axis", 0)})
                .node("Reshape", {"x", "split"}, {"parts"})
                .node("Mul", {"batch", "seq"}, {"rows"})
                .node("Concat", {"rows", "width"}, {"flat"}, {Attr("axis", 0)})
                .node("Cast", {"flat"}, {"flat32"}, {Attr("to", 6)})
                .node("Cast", {"flat32"}, {"flat64"}, {Attr("to", 7)})
                .node("Reshape", {"parts", "flat64"}, {"y"})
                .output("parts")
                .output("y")
                .import();
  EXPECT_EQ(g.nodes.size(), 3u) << print(g);
  EXPECT_EQ(type_text(g[g.outputs[0]].type), "f32[batch, seq, 4, 3]");
  EXPECT_EQ(type_text(g[g.outputs[1]].type), "f32[batch*seq, 12]");
}

TEST(OnnxImport, ReshapeInfersAndCopies) {
  auto reshaped = [](const std::vector<int64_t>& shape, int allowzero) {
    return type_of_output(
        Model(14)
            .input("x", DType::f32, {"B", 4, 6})
            .integers("shape", shape)
            .node("Reshape", {"x", "shape"}, {"y"}, {Attr("allowzero", allowzero)})
            .output("y")
            .import());
  };
  EXPECT_EQ(reshaped({0, -1}, 0), "f32[B, 24]");
  EXPECT_EQ(reshaped({-1, 8}, 0), "f32[3*B, 8]");
  EXPECT_EQ(reshaped({0, 0, 3, 2}, 0), "f32[B, 4, 3, 2]");
  EXPECT_THROW(reshaped({0, 4}, 1), Error);
  EXPECT_THROW(reshaped({-1, 5}, 0), Error);
  EXPECT_THROW(reshaped({-1, -1}, 0), Error);
}

TEST(OnnxImport, ExpandToAShapeWithWhereAndEqual) {
  // torch's expand(-1, 3, -1): Where(shape == -1, 1, shape).
  Graph g = Model(13)
                .input("x", DType::f32, {"B", 1, 4})
                .integers("wanted", {-1, 3, -1})
                .integers("minus", {-1, -1, -1})
                .integers("three", {3})
                .node("ConstantOfShape", {"three"}, {"ones"},
                      {Attr("value", tensor(DType::i64, {1}, {1}))})
                .node("Equal", {"wanted", "minus"}, {"mask"})
                .node("Where", {"mask", "ones", "wanted"}, {"shape"})
                .node("Expand", {"x", "shape"}, {"y"})
                .output("y")
                .import();
  EXPECT_EQ(type_of_output(g), "f32[B, 3, 4]");
}

TEST(OnnxImport, SizesMayBeData) {
  Graph g = Model(13)
                .input("x", DType::f32, {"B", 3})
                .node("Shape", {"x"}, {"shape"})
                .node("Cast", {"shape"}, {"y"}, {Attr("to", 1)})
                .node("Size", {"x"}, {"n"})
                .output("y")
                .output("n")
                .import();
  auto out = evaluate(g, {Tensor(DType::f32, {5, 3})}, Precision::per_op);
  EXPECT_EQ(values_of(out[0]), (std::vector<double>{5, 3}));
  EXPECT_EQ(out[1].dtype(), DType::i64);
  EXPECT_EQ(values_of(out[1]), std::vector<double>{15});
}

TEST(OnnxImport, SlicesOfNamedSizesToTheOpenEnd) {
  for (int64_t end : {int64_t{1000000000}, int64_t{INT32_MAX}, INT64_MAX}) {
    Graph g = Model(13)
                  .input("x", DType::f32, {"B", 8})
                  .integers("starts", {0, 2})
                  .integers("ends", {end, -2})
                  .node("Slice", {"x", "starts", "ends"}, {"y"})
                  .output("y")
                  .import();
    EXPECT_EQ(type_of_output(g), "f32[B, 4]");
  }
}

TEST(OnnxImport, OneHotProductBecomesAGather) {
  // As Magika has it: Equal(Expand(Reshape(ids)), 0 … 3) → Cast → MatMul.
  Tensor counting(DType::i32, {1, 1, 4});
  for (int64_t i = 0; i < 4; ++i) counting.set_i64(i, i);
  Graph g = Model(15)
                .input("ids", DType::i32, {"unk__1", 3})
                .integers("column", {-1, 3, 1})
                .integers("zero", {0})
                .integers("one", {1})
                .initializer("three", tensor(DType::i32, {1}, {3}))
                .initializer("last", tensor(DType::i32, {1}, {1}))
                .initializer("counting", counting)
                .initializer("table", tensor(DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, -0.0, 8}))
                .node("Reshape", {"ids", "column"}, {"c"})
                .node("Shape", {"ids"}, {"shape"})
                .node("Cast", {"shape"}, {"shape32"}, {Attr("to", 6)})
                .node("Slice", {"shape32", "zero", "one", "zero"}, {"batch"})
                .node("Concat", {"batch", "three", "last"}, {"wide32"}, {Attr("axis", 0)})
                .node("Cast", {"wide32"}, {"wide"}, {Attr("to", 7)})
                .node("Expand", {"c", "wide"}, {"e"})
                .node("Equal", {"e", "counting"}, {"mask"})
                .node("Cast", {"mask"}, {"hot"}, {Attr("to", 1)})
                .node("MatMul", {"hot", "table"}, {"y"})
                .output("y")
                .import();
  Graph done = run_graph_passes(g);
  EXPECT_EQ(done.nodes.size(), 3u) << print(done);
  EXPECT_EQ(done[done.outputs[0]].op, Op::gather);
  Tensor ids = tensor(DType::i32, {2, 3}, {0, 3, 7, 1, 2, -1});
  Tensor wanted = evaluate(g, {ids}, Precision::per_op)[0];
  EXPECT_TRUE(same_bits(evaluate(done, {ids}, Precision::per_op)[0], wanted));
}

// --- constants

TEST(OnnxImport, TensorsFromTypedFields) {
  Model model(13);
  model.input("x", DType::f32, {3});
  auto* f = model.graph().add_initializer();
  f->set_name("f");
  f->set_data_type(onnx::TensorProto::FLOAT);
  f->add_dims(3);
  for (float value : {1.5f, -2.0f, 0.25f}) f->add_float_data(value);
  auto* h = model.graph().add_initializer();
  h->set_name("h");
  h->set_data_type(onnx::TensorProto::FLOAT16);
  h->add_dims(1);
  h->add_int32_data(0x3c00);  // 1
  Graph g = model.node("Cast", {"h"}, {"one"}, {Attr("to", 1)})
                .node("Add", {"f", "one"}, {"s"})
                .node("Mul", {"x", "s"}, {"y"})
                .output("y")
                .import();
  Tensor x = tensor(DType::f32, {3}, {1, 1, 2});
  EXPECT_EQ(values_of(evaluate(g, {x}, Precision::per_op)[0]), (std::vector<double>{2.5, -1, 2.5}));
}

// One element of the type, as int32_data has it.
Model with_number(DType dtype, int32_t number) {
  Model model(13);
  auto* t = model.graph().add_initializer();
  t->set_name("t");
  t->set_data_type(onnx_type(dtype));
  t->add_dims(1);
  t->add_int32_data(number);
  return model.input("x", dtype, {1})
      .node("Concat", {"x", "t"}, {"y"}, {Attr("axis", 0)})
      .output("y");
}

TEST(OnnxImport, NumbersBeyondATensorsTypeAreErrors) {
  const std::tuple<DType, int32_t, int32_t> types[] = {
      {DType::i8, -128, 127}, {DType::u8, 0, 255},    {DType::i16, -32768, 32767},
      {DType::u16, 0, 65535}, {DType::boolean, 0, 1}, {DType::f16, 0, 65535}};
  for (const auto& [dtype, least, most] : types) {
    EXPECT_NO_THROW(with_number(dtype, least).import()) << dtype_name(dtype);
    EXPECT_NO_THROW(with_number(dtype, most).import()) << dtype_name(dtype);
    for (const int32_t number : {least - 1, most + 1}) {
      const Error error = error_of(with_number(dtype, number));
      EXPECT_EQ(error.kind(), ErrorKind::input);
      expect_contains(error.message(), std::to_string(number) + " in its int32_data is no");
    }
  }
}

TEST(OnnxImport, ElementsInTwoPlacesAreAnError) {
  Model model = with_number(DType::i32, 7);
  EXPECT_NO_THROW(model.import());
  auto* t = model.graph().mutable_initializer(0);
  t->set_raw_data(std::string("\1\0\0\0", 4));
  expect_contains(error_of(model).message(), "has elements in raw_data and in int32_data");
  t->clear_int32_data();
  EXPECT_NO_THROW(model.import());
  t->add_float_data(1);
  expect_contains(error_of(model).message(), "has elements in raw_data and in float_data");
}

TEST(OnnxImport, ADomainWithTwoOpsetsIsAnError) {
  Model model = with_number(DType::i32, 7);
  auto* again = model.proto.add_opset_import();
  again->set_domain("ai.onnx");
  again->set_version(13);
  EXPECT_NO_THROW(model.import());
  again->set_version(14);
  const Error error = error_of(model);
  EXPECT_EQ(error.kind(), ErrorKind::input);
  expect_contains(error.message(), "domain 'ai.onnx' is imported as 13 and as 14");
}

TEST(OnnxImport, InitializersAmongTheInputsAreConstants) {
  Graph g = Model(8)
                .input("x", DType::f32, {2})
                .input("w", DType::f32, {2})
                .initializer("w", tensor(DType::f32, {2}, {3, 4}))
                .node("Mul", {"x", "w"}, {"y"})
                .output("y")
                .import();
  EXPECT_EQ(g.inputs.size(), 1u);
}

TEST(OnnxImport, ExternalDataBesideTheModel) {
  const char* folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp";
  std::string data = fmt::format("{}/ingot_external_{}.bin", folder, getpid());
  Tensor w = tensor(DType::f32, {2}, {3, 4});
  write_file(data,
             std::string("skipped!") + std::string(reinterpret_cast<const char*>(w.data()), 8));
  auto model = [&](const std::string& location, const char* length) {
    Model m(13);
    m.input("x", DType::f32, {2});
    onnx::TensorProto* proto = m.graph().add_initializer();
    *proto = tensor_proto(w, "w");
    proto->clear_raw_data();
    proto->set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", location}, {"offset", "8"}, {"length", length}};
    for (const auto& [key, value] : entries) {
      auto* entry = proto->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    m.node("Mul", {"x", "w"}, {"y"}).output("y");
    return m.proto.SerializeAsString();
  };
  std::string path = fmt::format("{}/model.onnx", folder), file = data.substr(data.rfind('/') + 1);
  Graph g = import_onnx_bytes(model(file, "8"), path);
  EXPECT_EQ(values_of(evaluate(g, {tensor(DType::f32, {2}, {1, 2})}, Precision::per_op)[0]),
            (std::vector<double>{3, 8}));
  expect_contains(error_of(model(file, "12"), path).message(), "needs 8 bytes");
  expect_contains(error_of(model("no_such_file", "8"), path).message(), "missing");
  for (const char* outside : {"/etc/passwd", "../x", ""}) {
    EXPECT_EQ(error_of(model(outside, "8"), path).kind(), ErrorKind::input) << outside;
  }
  // Links count as what they lead to.
  const std::string link = data + ".link";
  for (const auto& [target, fits] : {std::pair(file.c_str(), true), {"/etc/passwd", false}}) {
    ASSERT_EQ(symlink(target, link.c_str()), 0);
    const std::string bytes = model(file + ".link", "8");
    if (fits) {
      EXPECT_NO_THROW(import_onnx_bytes(bytes, path));
    } else {
      expect_contains(error_of(bytes, path).message(), "leads to no file of the model's folder");
    }
    std::remove(link.c_str());
  }
  std::remove(data.c_str());
}

// A store of files by their digests: a folder of links, the model's and the data's.
TEST(OnnxImport, ExternalDataBesideTheFileThatTheModelIsALinkTo) {
  const char* folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp";
  const std::string root = fmt::format("{}/ingot_links_{}", folder, getpid());
  ASSERT_EQ(mkdir(root.c_str(), 0755) + mkdir((root + "/files").c_str(), 0755) +
                mkdir((root + "/names").c_str(), 0755),
            0);
  Tensor w = tensor(DType::f32, {2}, {3, 4});
  write_file(root + "/files/2", std::string(reinterpret_cast<const char*>(w.data()), 8));
  Model m(13);
  m.input("x", DType::f32, {2});
  onnx::TensorProto* proto = m.graph().add_initializer();
  *proto = tensor_proto(w, "w");
  proto->clear_raw_data();
  proto->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = proto->add_external_data();
  entry->set_key("location");
  entry->set_value("data");
  m.node("Mul", {"x", "w"}, {"y"}).output("y");
  write_file(root + "/files/1", m.proto.SerializeAsString());
  ASSERT_EQ(symlink("../files/1", (root + "/names/model.onnx").c_str()), 0);
  ASSERT_EQ(symlink("../files/2", (root + "/names/data").c_str()), 0);
  EXPECT_NO_THROW(import_onnx(root + "/names/model.onnx"));
  std::filesystem::remove_all(root);
}

// --- errors

TEST(OnnxImport, ListsAllThatIsUnsupportedAtOnce) {
  Model model(23);
  model.input("x", DType::f32, {1, 2, 4, 4})
      .initializer("scale", tensor(DType::f32, {}, {1}))
      .node("ConvTranspose", {"x", "x"}, {"a"}, {}, "up1")
      .node("ConvTranspose", {"a", "a"}, {"b"}, {}, "up2")
      .node("NonZero", {"x"}, {"c"}, {}, "nz")
      .node("Cast", {"x"}, {"d"}, {Attr("to", 8)}, "to_string")
      .node("QuantizeLinear", {"x", "scale"}, {"e"}, {Attr("precision", 11)}, "in_double")
      .output("b")
      .output("c")
      .output("d")
      .output("e");
  model.graph().mutable_node(2)->set_domain("my.domain");
  Error error = error_of(model);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  for (const char* part :
       {"ConvTranspose (2: up1, up2)", "my.domain.NonZero (1: nz)",
        "Cast: to STRING (1: to_string)", "QuantizeLinear: precision DOUBLE (1: in_double)"}) {
    expect_contains(error.message(), part);
  }
}

TEST(OnnxImport, InputsOfUnsupportedTypes) {
  Model model(13);
  model.input("x", DType::f32, {2}).node("Relu", {"x"}, {"y"}).output("y");
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::STRING);
  Error error = error_of(model);
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  expect_contains(error.message(), "an input of type STRING (1: x)");
}

TEST(OnnxImport, ACycleIsNamed) {
  Error error = error_of(Model(13)
                             .input("x", DType::f32, {2})
                             .node("Add", {"x", "c"}, {"a"}, {}, "first")
                             .node("Relu", {"a"}, {"b"}, {}, "second")
                             .node("Neg", {"b"}, {"c"}, {}, "third")
                             .output("c"));
  EXPECT_EQ(error.kind(), ErrorKind::input);
  expect_contains(error.message(), "cycle: first needs tensor c");
  expect_contains(error.message(), "first <- third <- second <- first");
}

TEST(OnnxImport, AMissingInputIsNamed) {
  Error error = error_of(
      Model(13).input("x", DType::f32, {2}).node("Add", {"x", "w"}, {"y"}, {}, "plus").output("y"));
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_EQ(error.location().node, "plus");
  expect_contains(error.message(), "its input w");
}

TEST(OnnxImport, NodesInAnyOrder) {
  Graph g = Model(13)
                .input("x", DType::f32, {2})
                .node("Relu", {"a"}, {"y"})
                .node("Neg", {"x"}, {"a"})
                .output("y")
                .import();
  EXPECT_EQ(values_of(evaluate(g, {tensor(DType::f32, {2}, {-3, 3})}, Precision::per_op)[0]),
            (std::vector<double>{3, 0}));
}

TEST(OnnxImport, ShapeErrorsNameTheNode) {
  Error error = error_of(Model(13)
                             .input("a", DType::f32, {2, 3})
                             .input("b", DType::f32, {4, 5})
                             .node("MatMul", {"a", "b"}, {"y"}, {}, "dense/MatMul")
                             .output("y"));
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_EQ(error.location().node, "dense/MatMul");
  expect_contains(error.message(), "inner sizes 3 and 4 differ");
}

TEST(OnnxImport, HostileFilesAreErrors) {
  Model good(13);
  good.input("x", DType::f32, {"B", 4})
      .initializer("w", tensor(DType::f32, {4}, {1, 2, 3, 4}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  ASSERT_NO_THROW(good.import());
  const std::string bytes = good.proto.SerializeAsString();
  EXPECT_EQ(error_of("").kind(), ErrorKind::input);
  EXPECT_EQ(error_of("graph g(x: f32[2]) { return x }").kind(), ErrorKind::input);
  EXPECT_EQ(error_of(bytes.substr(0, bytes.size() / 2)).kind(), ErrorKind::input);

  auto broken = [&](auto change) {
    Model model = good;
    change(model.graph());
    return error_of(model);
  };
  for (int64_t size : {int64_t{-1}, int64_t{5}, INT64_MAX, int64_t{1} << 40}) {
    EXPECT_EQ(broken([&](auto& g) { g.mutable_initializer(0)->set_dims(0, size); }).kind(),
              ErrorKind::input)
        << size;
  }
  EXPECT_EQ(broken([](auto& g) {
              for (int i = 0; i < 3; ++i) g.mutable_initializer(0)->add_dims(int64_t{1} << 40);
            }).kind(),
            ErrorKind::input);
  auto dim_of = [](auto& g, int d) {
    return g.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(
        d);
  };
  EXPECT_EQ(broken([&](auto& g) { dim_of(g, 1)->set_dim_value(-4); }).kind(), ErrorKind::input);
  EXPECT_EQ(broken([&](auto& g) { dim_of(g, 1)->set_dim_value(INT64_MAX); }).kind(),
            ErrorKind::input);
  EXPECT_EQ(broken([](auto& g) { g.mutable_output(0)->set_name("z"); }).kind(), ErrorKind::input);
  EXPECT_EQ(broken([](auto& g) { g.clear_output(); }).kind(), ErrorKind::input);
  EXPECT_EQ(broken([](auto& g) { g.mutable_node(0)->set_output(0, "x"); }).kind(),
            ErrorKind::input);
  EXPECT_EQ(broken([](auto& g) { g.mutable_node(0)->clear_input(); }).kind(), ErrorKind::input);
}

// Every prefix and every single-byte change: an error or a graph, never a crash.
TEST(OnnxImport, DamagedFilesNeverCrash) {
  Model model(13);
  model.input("x", DType::f32, {"B", 4})
      .integers("shape", {-1, 2, 2})
      .integers("axes", {1})
      .initializer("w", tensor(DType::f32, {2}, {1, 2}))
      .node("Reshape", {"x", "shape"}, {"r"})
      .node("Mul", {"r", "w"}, {"m"})
      .node("ReduceSum", {"m", "axes"}, {"s"}, {Attr("keepdims", 0)})
      .node("Softmax", {"s"}, {"y"}, {Attr("axis", -1)})
      .output("y");
  const std::string bytes = model.proto.SerializeAsString();
  int graphs = 0;
  auto attempt = [&](const std::string& damaged) {
    try {
      verify(import_onnx_bytes(damaged, "damaged.onnx"), "test");
      ++graphs;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  };
  for (size_t length = 0; length < bytes.size(); ++length) attempt(bytes.substr(0, length));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned char change : {0x01, 0x80, 0x7f, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ change);
      attempt(damaged);
    }
  }
  EXPECT_GT(graphs, 0);
}

TEST(OnnxImport, DeclarationsOfOutputsAreCompared) {
  auto imported = [](DType dtype, const std::vector<Dim>& dims) {
    Model model(13);
    model.input("x", DType::f32, {"N", 3}).node("Relu", {"x"}, {"y"}).output("y", dtype, dims);
    return model.import();
  };
  EXPECT_EQ(imported(DType::f32, {"N", 3}).outputs.size(), 1u);
  EXPECT_EQ(imported(DType::f32, {"other", ""}).outputs.size(), 1u);
  EXPECT_EQ(imported(DType::f32, {8, 3}).outputs.size(), 1u);  // N may be 8
  auto message = [&](DType dtype, const std::vector<Dim>& dims) -> std::string {
    try {
      imported(dtype, dims);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(message(DType::f16, {"N", 3}), "output y is declared as f16, but it is f32[N, 3]");
  EXPECT_EQ(message(DType::f32, {"N", 4}), "output y is declared as [N, 4], but it is f32[N, 3]");
  EXPECT_EQ(message(DType::f32, {"N"}), "output y is declared as [N], but it is f32[N, 3]");
}

}  // namespace
}  // namespace ingot::testing
