#pragma once
#include "engines/tensorflow.h"
#include "tf/source.h"

namespace t2o::verify {

// What a session runs so that its variables have the values that the conversion takes for them.
struct Assignments {
  engines::Feeds values;
  Strings targets;
  bool each_time = false;  // the model itself changes variables: without it one run would see what the last has left
};

// Of the variables that `fetches` need. TensorFlow itself has restored what its saver lists, which is not always
// all. What is behind a fed tensor is not needed.
Assignments plan_assignments(engines::TfSession&, const tf::Source&, const Strings& fetches, const Strings& feeds);

}  // namespace t2o::verify
