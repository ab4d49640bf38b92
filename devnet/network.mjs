// A real AT Protocol network on free ports of the loopback address: a PLC directory, a PDS and an AppView, with people
// and posts on it. Writes what there is to know as JSON to the file named by the first argument, and ends on SIGTERM or
// when its standard input is closed, leaving nothing behind.
import './loopback.mjs'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import crypto from 'node:crypto'
import { consent } from './consent.mjs'
import { freePort } from './loopback.mjs'
import { startDatabase } from './database.mjs'
import { endServices, signalService, startService } from './services.mjs'

const [file] = process.argv.slice(2)
if (!file) throw new Error('usage: node network.mjs FILE')

// Everything that the servers write goes into one folder. It is open to others because the database may have to run as
// somebody else.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'devnet-'))
fs.chmodSync(folder, 0o755)
process.env.TMPDIR = folder
process.env.NODE_ENV = 'development'
process.env.LOG_ENABLED ??= 'false'

const log = fs.openSync(path.join(folder, 'postgres.log'), 'a')
const database = await startDatabase(folder, log)
let network
const stop = async () => {
  setTimeout(() => process.exit(0), 3000).unref()
  await network?.close().catch(() => {})
  process.exit(0)
}
// However it ends, a crash included.
process.on('exit', () => {
  endServices()
  database.stop()
  // The database takes a moment to let go of its files, and here nothing can be waited for but time itself.
  for (let attempt = 0; attempt < 60; attempt++) {
    try {
      return fs.rmSync(folder, { recursive: true, force: true })
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    }
  }
})
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
process.stdin.on('end', stop).resume()

process.env.DB_POSTGRES_URL = database.url
process.env.DB_POSTGRES_SCHEMA = 'devnet'
// The development network insists on the name of a cache that it never calls.
process.env.REDIS_HOST = '127.0.0.1:1'

const { TestNetwork } = await import('@atproto/dev-env')
const { seed, seedFeed } = await import('./seed.mjs')
const ports = { plc: await freePort(), pds: await freePort(), appview: await freePort(), ozone: await freePort() }
network = await TestNetwork.create({
  plc: { port: ports.plc },
  pds: { port: ports.pds, hostname: 'localhost', enableDidDocWithSession: true },
  bsky: { port: ports.appview, publicUrl: `http://localhost:${ports.appview}`, dbPostgresSchema: 'appview' },
  ozone: { port: ports.ozone, chatUrl: 'http://localhost:1', chatDid: 'did:example:chat', dbMaterializedViewRefreshIntervalMs: 30_000 },
})
const pds = `http://localhost:${ports.pds}`
const seeded = await seed(pds)
await network.processAll(20_000)
const feed = await seedFeed(network, seeded)
await network.processAll(20_000)

// An access token that was good until an hour ago, as the PDS would have signed it.
const expiredToken = (did) => {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const head = encode({ typ: 'at+jwt', alg: 'HS256' })
  const body = encode({ scope: 'com.atproto.appPass', aud: network.pds.ctx.cfg.service.did, sub: did, iat: now - 7200, exp: now - 3600 })
  const key = network.pds.jwtSecretKey().export()
  return `${head}.${body}.${crypto.createHmac('sha256', key).update(`${head}.${body}`).digest('base64url')}`
}

// What tests ask of the network besides its own protocol.
const services = {
  // Someone consents, or refuses, in a browser.
  consent,
  // The AppView has seen everything that was written so far.
  settle: async () => { await network.processAll(20_000); return {} },
  expired: async ({ did }) => ({ token: expiredToken(did) }),
  // A service of one's own: started (again, where it is named), stopped, killed.
  startService: (which) => startService({ folder, plc: `http://localhost:${ports.plc}`, ...which }),
  signalService,
}
const control = http.createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => (text += chunk))
  request.on('end', async () => {
    const answer = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    try {
      const service = services[request.url.slice(1)]
      if (!service) return answer(404, { problem: 'no such service' })
      answer(200, await service(text ? JSON.parse(text) : {}))
    } catch (error) {
      answer(500, { problem: String(error?.message ?? error) })
    }
  })
})
await new Promise((resolve) => control.listen({ port: 0, host: '127.0.0.1' }, resolve))

const { people, posts, list } = seeded
const facts = {
  plc: `http://localhost:${ports.plc}`, pds, appview: `http://localhost:${ports.appview}`,
  control: `http://127.0.0.1:${control.address().port}`,
  feed, list, posts,
  people: Object.fromEntries(Object.entries(people).map(([name, { handle, did, password, appPassword }]) => [name, { handle, did, password, appPassword }])),
}
// Under its final name only when it is whole: whoever waits for it can read it at once.
fs.writeFileSync(`${file}.part`, JSON.stringify(facts, null, 1))
fs.renameSync(`${file}.part`, file)
