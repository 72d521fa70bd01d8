// The subcommands. Each writes its result to stdout and returns the exit code 0 or 1; everything
// else is an ingot::Error.
#pragma once

#include "arguments.h"

namespace ingot::cli {

int explain(const Arguments& arguments);
int run(const Arguments& arguments);
int check(const Arguments& arguments);
int bench(const Arguments& arguments);
int emit(const Arguments& arguments);
int print(const Arguments& arguments);
int plan(const Arguments& arguments);
int lower(const Arguments& arguments);
int tune(const Arguments& arguments);
int lab(const Arguments& arguments);
int ops(const Arguments& arguments);
int devices(const Arguments& arguments);
int cache(const Arguments& arguments);

}  // namespace ingot::cli
