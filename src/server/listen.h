#pragma once

#include <cstdint>
#include <string>

namespace l0gm {

// A socket that listens without blocking; `chosen` is its port. UserError when the address cannot be used.
int listen_on(const std::string& host, int port, int& chosen);

// Whether only programs on this machine reach it: 127.0.0.0/8, ::1, localhost. UserError for what is no address.
bool is_loopback(const std::string& host);

// As many descriptors as so many connections and the program itself want, as far as the system allows.
void raise_descriptor_limit(int64_t connections);

}  // namespace l0gm
