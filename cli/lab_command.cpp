// lab: the interactive page, served on this machine alone or written to a file.

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "commands.h"
#include "session.h"

namespace ingot::cli {
namespace {

constexpr const char* loopback = "127.0.0.1";

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::input, message); }

template <typename Type, void (*release)(Type*)>
struct Release {
  void operator()(Type* held) const { release(held); }
};
template <typename Type, void (*release)(Type*)>
using Owned = std::unique_ptr<Type, Release<Type, release>>;

using EventBase = Owned<event_base, event_base_free>;
using HttpServer = Owned<evhttp, evhttp_free>;
using Signal = Owned<event, event_free>;

std::string page_of(const Arguments& arguments) {
  if (arguments.file.empty()) return lab_html();
  Session session = open_session(arguments);
  session.options.sizes = complete_sizes(session);
  const Compiled compiled = arguments.measure ? compile(session, arguments) : plan_only(session);
  return lab_html(compiled.explain_json(arguments.measure));
}

struct Served {
  std::string page;
  std::string own_hosts[2];  // as a browser names them; another name is another site's request
};

bool is_for_us(const Served& served, evhttp_request* request) {
  const char* const host = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
  return host != nullptr && (served.own_hosts[0] == host || served.own_hosts[1] == host);
}

void answer(evhttp_request* request, void* context) {
  const Served& served = *static_cast<const Served*>(context);
  const evhttp_uri* const uri = evhttp_request_get_evhttp_uri(request);
  const char* const path = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  if (!is_for_us(served, request)) {
    evhttp_send_error(request, 403, "this page is for this machine");
    return;
  }
  if (path == nullptr || std::string(path) != "/") {
    evhttp_send_error(request, HTTP_NOTFOUND, "there is one page: /");
    return;
  }
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", "text/html; charset=utf-8");
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evbuffer_add(evhttp_request_get_output_buffer(request), served.page.data(), served.page.size());
  evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
}

void end_loop(evutil_socket_t, short, void* base) {
  event_base_loopbreak(static_cast<event_base*>(base));
}

int bound_port(evhttp_bound_socket* bound) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr*>(&address),
                  &length) != 0) {
    fail("lab: the server has no address");
  }
  return ntohs(address.sin_port);
}

// Until Ctrl-C or SIGTERM. One thread; only this machine can reach it.
void serve(std::string page, int port) {
  const EventBase base(event_base_new());
  const HttpServer server(base ? evhttp_new(base.get()) : nullptr);
  if (!server) fail("lab: cannot start a server");
  evhttp_bound_socket* const bound =
      evhttp_bind_socket_with_handle(server.get(), loopback, static_cast<uint16_t>(port));
  if (bound == nullptr) {
    fail(fmt::format("lab: cannot listen at {}:{}: is another program there? --port takes another",
                     loopback, port));
  }
  const int taken = bound_port(bound);
  Served served{std::move(page),
                {fmt::format("{}:{}", loopback, taken), fmt::format("localhost:{}", taken)}};
  evhttp_set_allowed_methods(server.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_gencb(server.get(), answer, &served);
  const Signal interrupt(evsignal_new(base.get(), SIGINT, end_loop, base.get()));
  const Signal terminate(evsignal_new(base.get(), SIGTERM, end_loop, base.get()));
  evsignal_add(interrupt.get(), nullptr);
  evsignal_add(terminate.get(), nullptr);
  fmt::print("http://{}:{}/ (Ctrl-C ends it)\n", loopback, taken);
  std::fflush(stdout);
  event_base_dispatch(base.get());
}

}  // namespace

int lab(const Arguments& arguments) {
  std::string page = page_of(arguments);
  if (arguments.out.empty()) {
    serve(std::move(page), arguments.port);
  } else {
    write_whole_file(arguments.out, page);
    note(fmt::format("{}: {} bytes, opens in a browser", arguments.out, page.size()));
  }
  return 0;
}

}  // namespace ingot::cli
