// The entry: everything else is a library.
#include "gateway/app/run.hpp"

int main(int argc, char** argv) { return sallyport::gateway::run(argc, argv); }
