// The public Tensor, under the name that the stages use.
#pragma once

#include <ingot/tensor.h>
