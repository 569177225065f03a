// Beast's parser behind HttpMessageReader.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <utility>

#include "gateway/net/http_codec.hpp"

namespace sallyport::gateway {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

// More than this without any progress is no chunk header that anybody sends.
constexpr std::size_t kMaxStuck = 16U << 10;
constexpr std::size_t kMaxExtension = 256;
// The shortest end of a chunked body. Between chunks the parser gets no less: it asserts that much on its second look.
constexpr std::size_t kLastChunkSize = 5;

struct Collected {
  HttpRequest request;  // its headers and body serve answers too
  int status = 0;
  bool body_begun = false;
  bool chunked = false;
  std::uint64_t chunk_left = 0;  // bytes of the chunk that is being read
};

// Beast calls back into `out`; the two kinds differ in their first line only.
template <bool is_request>
class Parser final : public http::basic_parser<is_request> {
 public:
  explicit Parser(Collected& out) : out_(out) {}

 private:
  void on_request_impl(http::verb /*verb*/, string_view method, string_view target, int version, error_code&) override {
    out_.request.method.assign(method.data(), method.size());
    out_.request.target.assign(target.data(), target.size());
    const std::size_t query = out_.request.target.find('?');
    out_.request.path = out_.request.target.substr(0, query);
    if (query != std::string::npos) out_.request.query = out_.request.target.substr(query + 1);
    out_.request.http_1_0 = version == 10;
  }
  void on_response_impl(int code, string_view /*reason*/, int version, error_code&) override {
    out_.status = code;
    out_.request.http_1_0 = version == 10;
  }
  void on_field_impl(http::field /*field*/, string_view name, string_view value, error_code&) override {
    if (out_.body_begun) return;  // trailers are not headers
    out_.request.headers.add({name.data(), name.size()}, {value.data(), value.size()});
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, error_code&) override {
    out_.body_begun = true;
  }
  std::size_t on_body_impl(string_view body, error_code&) override {
    out_.request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& error) override {
    out_.body_begun = true;
    out_.chunk_left = size;
    if (extensions.size() > kMaxExtension) error = http::error::bad_chunk_extension;
  }
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view body, error_code&) override {
    out_.chunk_left = remain - body.size();
    out_.request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  Collected& out_;
};

HttpFault to_fault(const error_code& error) {
  if (error == http::error::body_limit) return {413, "the body is larger than the limit"};
  if (error == http::error::header_limit) return {431, "the headers are larger than the limit"};
  if (error == http::error::partial_message || error == http::error::end_of_stream) {
    return {400, "the message was cut off"};
  }
  return {400, "the message is not HTTP/1.1: " + error.message()};
}

}  // namespace

struct HttpMessageReader::State {
  Collected collected;
  std::unique_ptr<Parser<true>> request;
  std::unique_ptr<Parser<false>> response;
  bool keep_alive = false;

  template <class Use>
  auto with(Use use) const {
    return request ? use(*request) : use(*response);
  }
};

HttpMessageReader::HttpMessageReader(Kind kind, std::size_t header_limit, std::uint64_t body_limit)
    : state_(std::make_unique<State>()) {
  const auto set_up = [&](auto& parser) {
    parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(header_limit, UINT32_MAX)));
    parser.body_limit(body_limit);
    parser.eager(true);
  };
  if (kind == Kind::request) {
    state_->request = std::make_unique<Parser<true>>(state_->collected);
    set_up(*state_->request);
  } else {
    state_->response = std::make_unique<Parser<false>>(state_->collected);
    set_up(*state_->response);
    state_->response->skip(kind == Kind::response_to_head);
  }
}

HttpMessageReader::HttpMessageReader(HttpMessageReader&&) noexcept = default;
HttpMessageReader& HttpMessageReader::operator=(HttpMessageReader&&) noexcept = default;
HttpMessageReader::~HttpMessageReader() = default;

std::optional<HttpFault> HttpMessageReader::put(std::string& bytes) {
  const bool had_head = head_done();
  const Collected& seen = state_->collected;
  if (had_head && seen.chunked && seen.chunk_left == 0 && bytes.size() < kLastChunkSize) return std::nullopt;
  std::size_t used = 0;
  error_code error;
  while (used < bytes.size() && !done()) {
    const boost::asio::const_buffer rest(bytes.data() + used, bytes.size() - used);
    const std::size_t took = state_->with([&](auto& parser) { return parser.put(rest, error); });
    used += took;
    if (error || took == 0) break;
  }
  bytes.erase(0, used);
  if (!had_head && head_done()) {
    state_->collected.body_begun = true;
    state_->collected.chunked = state_->with([](auto& parser) { return parser.chunked(); });
    state_->keep_alive = state_->with([](auto& parser) { return parser.keep_alive(); });
  }
  if (error && error != http::error::need_more) return to_fault(error);
  if (!done() && bytes.size() > kMaxStuck) return HttpFault(400, "a chunk header is too long");
  return std::nullopt;
}

std::optional<HttpFault> HttpMessageReader::put_end() {
  if (done()) return std::nullopt;
  if (!head_done()) return HttpFault(400, "the message was cut off");
  error_code error;
  state_->with([&](auto& parser) { parser.put_eof(error); });
  if (error) return to_fault(error);
  return std::nullopt;
}

bool HttpMessageReader::head_done() const {
  return state_->with([](auto& parser) { return parser.is_header_done(); });
}
bool HttpMessageReader::done() const {
  return state_->with([](auto& parser) { return parser.is_done(); });
}
bool HttpMessageReader::expects_body() const { return head_done() && !done(); }
bool HttpMessageReader::keep_alive() const { return state_->keep_alive; }
std::string& HttpMessageReader::body() { return state_->collected.request.body; }
HttpRequest HttpMessageReader::take_request() { return std::exchange(state_->collected.request, {}); }
int HttpMessageReader::status() const { return state_->collected.status; }
HttpHeaders HttpMessageReader::take_headers() { return std::exchange(state_->collected.request.headers, {}); }

}  // namespace sallyport::gateway
