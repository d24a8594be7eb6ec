/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is resident on a device, over all processes of a session. An SM is four quarters; a block of
 * more than 512 threads takes all of them, one of more than 256 two, others one. Each quarter is a
 * byte of a file that all processes of the user open, and who has it holds a lock on that byte: the
 * locks of a process that dies go with it. Locks of one process do not exclude each other, so each
 * also keeps a table of what it has.
 */
#include "launch.h"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace fake
{

constexpr int QUARTERS = 4;
constexpr int GATE = 0xffff; /* a byte that is no place */

static unsigned quarters_of(unsigned threads)
{
    return threads > 512 ? 4 : threads > 256 ? 2 : 1;
}

int resident_per_sm(unsigned threads)
{
    return QUARTERS / (int) quarters_of(threads);
}

struct places {
    std::mutex mutex;
    int fd;
    std::vector<bool> mine[MAX_DEVICES];
};

static places &all_places()
{
    static places *p = [] {
        places *made = new places {};
        std::string path = "/dev/shm/fakecuda." + std::to_string(getuid());
        made->fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (made->fd < 0) {
            die("%s: %s", path.c_str(), strerror(errno));
        }
        for (auto &m : made->mine) {
            m.resize((size_t) (opt().sms * QUARTERS));
        }
        return made;
    }();
    return *p;
}

/* Sessions and devices have ranges of bytes of their own; the file stays empty. */
static bool set_lock(int fd, int machine, int at, unsigned n, short type, int how = F_OFD_SETLK)
{
    struct flock lock = {};

    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start =
        (off_t) ((opt().session & 0xffffffff) << 24 | (uint64_t) machine << 16 | (uint64_t) at);
    lock.l_len = n;
    return 0 == fcntl(fd, how, &lock);
}

static int try_enter(places &p, int machine, unsigned n)
{
    std::lock_guard<std::mutex> lock(p.mutex);
    std::vector<bool> &mine = p.mine[machine];

    for (unsigned at = 0; at < mine.size(); at += n) {
        bool idle = true;
        for (unsigned k = 0; k < n; k++) {
            idle = idle && !mine[at + k];
        }
        if (idle && set_lock(p.fd, machine, (int) at, n, F_WRLCK)) {
            for (unsigned k = 0; k < n; k++) {
                mine[at + k] = true;
            }
            return (int) at;
        }
    }
    return -1;
}

/*
 * Who comes first gets a place first, as on a device: a kernel that leaves and is launched again
 * has to queue. Threads of a process queue by number, and their process with the others at a byte
 * of its own.
 */
class turn
{
  public:
    explicit turn(int of) : machine(of)
    {
        std::unique_lock<std::mutex> lock(q().mutex);
        const uint64_t number = q().next[machine]++;

        q().moved.wait(lock, [&] { return number == q().now[machine]; });
        lock.unlock();
        while (!set_lock(all_places().fd, machine, GATE, 1, F_WRLCK, F_OFD_SETLKW) &&
               EINTR == errno) {
        }
    }
    ~turn()
    {
        set_lock(all_places().fd, machine, GATE, 1, F_UNLCK);
        std::lock_guard<std::mutex> lock(q().mutex);
        q().now[machine]++;
        q().moved.notify_all();
    }

  private:
    struct queue {
        std::mutex mutex;
        std::condition_variable moved;
        uint64_t next[MAX_DEVICES] = {}, now[MAX_DEVICES] = {};
    };
    static queue &q()
    {
        static queue *made = new queue;
        return *made;
    }
    const int machine;
};

int resident_enter(int machine, unsigned threads)
{
    places &p = all_places();
    turn mine(machine);
    int at;

    for (unsigned tries = 0; (at = try_enter(p, machine, quarters_of(threads))) < 0; tries++) {
        usleep(tries < 20 ? 50 : 500);
    }
    return at;
}

void resident_leave(int machine, unsigned threads, int at)
{
    places &p = all_places();
    std::lock_guard<std::mutex> lock(p.mutex);

    for (unsigned k = 0; k < quarters_of(threads); k++) {
        p.mine[machine][(size_t) at + k] = false;
    }
    set_lock(p.fd, machine, at, quarters_of(threads), F_UNLCK);
}

} /* namespace fake */
