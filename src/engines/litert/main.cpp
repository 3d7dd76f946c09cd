#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>

#include "engines/litert/model.h"

// The helper, in which LiteRT runs: a wrong call or a bad model ends this process and not the one that asks.
// It answers one request after the other, and ends when the other end of its socket is closed.
namespace t2o::engines::lite {
namespace {

bool read_all(void* to, std::size_t size) {
  char* at = static_cast<char*>(to);
  while (size != 0) {
    const ssize_t n = read(kSocket, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

void send_all(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = send(kSocket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(0);
    at += static_cast<std::size_t>(n);
  }
}

// A run that takes hours does not outlive the process that asked for it.
void end_with_the_other_process() {
  std::thread([] {
    pollfd p{kSocket, 0, 0};
    while (poll(&p, 1, -1) <= 0 || !(p.revents & (POLLHUP | POLLERR))) {
    }
    _exit(0);
  }).detach();
}

void limit_damage() {
  const rlimit none{0, 0}, log{1 << 20, 1 << 20};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_FSIZE, &log);  // what it prints is kept in memory
  std::signal(SIGXFSZ, SIG_IGN);
}

class Server {
 public:
  bool answer() {
    FrameHead head;
    if (!read_all(&head, sizeof head)) return false;
    if (!is_valid(head)) throw BadMessage("a frame without its mark");
    std::string payload(head.size, '\0');
    if (!read_all(payload.data(), payload.size())) return false;
    try {
      send_all(frame(Kind::done, reply(head.kind, payload)));
    } catch (const Failed& e) {
      send_all(frame(Kind::failed, encode(e.failure)));
    } catch (const std::bad_alloc&) {
      send_all(frame(Kind::failed, encode(Failure{"it needs more memory than there is", false, true})));
    }
    return true;
  }

 private:
  std::string reply(Kind kind, const std::string& payload) {
    if (kind == Kind::open) {
      engine_ = open_engine(decode<OpenRequest>(payload), doing);
      return encode(engine_->about());
    }
    if (!engine_) throw BadMessage("no library is open");
    if (kind == Kind::load) return encode(engine_->load(decode<LoadRequest>(payload)));
    if (kind == Kind::run) return encode(engine_->run(decode<RunRequest>(payload)));
    throw BadMessage("an unknown request");
  }
  static void doing(const char* step) { send_all(frame(Kind::doing, step)); }

  std::unique_ptr<Engine> engine_;
};

int serve() {
  limit_damage();
  end_with_the_other_process();
  Server server;
  try {
    while (server.answer()) {
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::fflush(stderr);
    _exit(3);
  }
  _exit(0);  // the engines' threads are not waited for
}

}  // namespace
}  // namespace t2o::engines::lite

int main(int argc, char** argv) {
  int type = 0;
  socklen_t size = sizeof type;
  if (argc != 2 || std::string_view(argv[1]) != "--serve" ||
      getsockopt(t2o::engines::lite::kSocket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("tf2onnx-litert: tf2onnx-cpp runs LiteRT in this program when it verifies a model.\n", stderr);
    return 2;
  }
  return t2o::engines::lite::serve();
}
