// What a CPU reaches, by programs of ingot's own: measured, kept, and what reports do with it.
#include "api/device_rates.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"

namespace ingot::testing {
namespace {

TEST(DeviceRates, AreMeasuredKeptAndReadBack) {
  Options options;
  options.threads = 2;
  options.cache_dir = "device_rates_test";
  std::filesystem::remove_all(options.cache_dir);
  std::filesystem::create_directories(options.cache_dir);
  const DeviceModel& cpu = device_model("cpu");
  EXPECT_FALSE(known_rates(options, cpu));
  int steps = 0;
  const DeviceRates rates = measure_rates(options, [&](double, const std::string&) { ++steps; });
  EXPECT_EQ(steps, 6);
  // A thousandth and a thousand times what a core of today has: nothing was optimized away.
  EXPECT_TRUE(rates.copy_gbs > 0.05 && rates.copy_gbs < 10e3) << rates.copy_gbs;
  EXPECT_TRUE(rates.read_gbs > 0.05 && rates.read_gbs < 10e3) << rates.read_gbs;
  EXPECT_TRUE(rates.cache_gbs > 0.05 && rates.cache_gbs < 50e3) << rates.cache_gbs;
  EXPECT_TRUE(rates.launch_us > 1e-3 && rates.launch_us < 1e3) << rates.launch_us;
  EXPECT_TRUE(rates.f32_gflops > 0.1 && rates.f32_gflops < 100e3) << rates.f32_gflops;
  EXPECT_TRUE(rates.sigmoid_gps > 1e-3 && rates.sigmoid_gps < 1e3) << rates.sigmoid_gps;
  keep_rates(options, cpu, rates);
  const std::optional<DeviceRates> kept = known_rates(options, cpu);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->copy_gbs, rates.copy_gbs);
  EXPECT_EQ(kept->date, rates.date);
  EXPECT_EQ(with_rates(cpu, *kept).copy_gbs, rates.copy_gbs);
  options.threads = 1;
  EXPECT_FALSE(known_rates(options, cpu)) << "of another number of threads";
}

TEST(DeviceRates, ADamagedFileIsNoRates) {
  Options options;
  options.threads = 2;
  options.cache_dir = "device_rates_damaged";
  std::filesystem::create_directories(options.cache_dir);
  for (const char* text : {"", "[1]", "{\"x\"", "{\"AMD\": 3}"}) {
    write_file(options.cache_dir + "/devices.json", text);
    EXPECT_FALSE(known_rates(options, device_model("cpu"))) << text;
  }
}

}  // namespace
}  // namespace ingot::testing
