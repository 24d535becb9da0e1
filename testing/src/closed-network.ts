import net from 'node:net';

// No test talks to the world: a connection to anything but this machine fails at once, with its name.
const connect = net.Socket.prototype.connect;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/;

function guarded(this: net.Socket, ...args: unknown[]): net.Socket {
  const [first] = args;
  const options = Array.isArray(first) ? (first[0] as unknown) : first;
  const host =
    typeof options === 'object' && options !== null && 'host' in options ? options.host : undefined;
  if (typeof host === 'string' && host !== '' && !LOOPBACK.test(host) && !host.endsWith('.invalid')) {
    throw new Error(`a test tried to connect to ${host}`);
  }
  return Reflect.apply(connect, this, args) as net.Socket;
}

// Files that share a process share this as well.
if (connect.name !== guarded.name) net.Socket.prototype.connect = guarded;
