// Keeps every server of this process on the loopback address. The network's servers listen on all addresses by
// themselves, which nothing that runs in a test should.
import net from 'node:net'

const listen = net.Server.prototype.listen

net.Server.prototype.listen = function (first, ...rest) {
  const callback = rest.find((argument) => typeof argument === 'function')
  if (typeof first === 'number') return listen.call(this, { port: first, host: '127.0.0.1' }, callback)
  if (first && typeof first === 'object' && first.port !== undefined && !first.host) {
    return listen.call(this, { ...first, host: '127.0.0.1' }, callback)
  }
  return listen.call(this, first, ...rest)
}

// A port that is free now.
export const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = net.createServer()
    probe.once('error', reject)
    probe.listen({ port: 0, host: '127.0.0.1' }, () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
