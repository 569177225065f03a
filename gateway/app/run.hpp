// run: the program. Parses the command line and hands each verb to where it is done.
#pragma once

namespace sallyport::gateway {

[[nodiscard]] int run(int argc, char** argv);

}  // namespace sallyport::gateway
