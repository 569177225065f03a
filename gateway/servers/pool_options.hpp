// Times and bounds of the pool that nobody configures; tests set them short.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "schemas/core/time.hpp"

namespace sallyport::gateway {

struct PoolOptions {
  std::map<std::string, std::string> known_versions;  // by server, as the lock tells: tried first where the era is auto
  Millis idle_keep{600'000};                          // a link without a call for so long ends
  Millis close_wait{2'000};                           // after stdin was closed, and again after SIGTERM
  Millis exit_drain{500};                             // what an ended child wrote is still read for so long
  Millis group_grace{100};                            // for what else lives in the group of an ended child
  Millis ping_wait{30'000};                           // for a server that let a call time out and said nothing
  Millis probe_wait{10'000};   // for the answer to the request that finds out the era of a server
  Millis shortest_ttl{1'000};  // a list of tools is not asked for more often, whatever the server says
  Millis write_grace{30'000};  // a request that was begun and given up must be finished by then
  Millis backoff_first{250};   // after a failed start or a crash; doubled each time, with full jitter above half
  Millis backoff_most{60'000};
  Millis healthy_after{60'000};      // a link that was up for so long starts a new count of failures
  Millis wait_for_backoff{2'000};    // a caller waits for a start that is due so soon, else it is refused at once
  Millis change_quiet{200};          // tools/list_changed are told once per so long
  Millis late_keep{60'000};          // an HTTP answer nobody waits for is still read for so long
  Millis stream_retry_first{1'000};  // GET stream: first pause before it is opened again
  Millis stream_retry_most{60'000};
  std::size_t queue_frames = 4'096;     // waiting for one child
  std::size_t queue_bytes = 64U << 20;  // likewise; a single message is always taken
  std::size_t tools = 10'000;           // per server
  std::size_t tool_pages = 500;
  std::size_t late_streams = 16;  // HTTP answers read on for nobody, per link
};

}  // namespace sallyport::gateway
