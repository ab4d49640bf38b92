// Services of their own for tests that stop and kill them: each a PDS in another process, with one account on it.
import fs from 'node:fs'
import path from 'node:path'
import crypto from 'node:crypto'
import { fork } from 'node:child_process'
import { AtpAgent } from '@atproto/api'
import { freePort } from './loopback.mjs'

const services = new Map()

// Starts a process for the service and waits until it listens.
const run = (service) =>
  new Promise((resolve, reject) => {
    const { folder, port, plc, rotationKey } = service
    const settings = JSON.stringify({ folder, port, plc, rotationKey })
    service.child = fork(path.join(import.meta.dirname, 'service.mjs'), [settings], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    service.child.once('message', () => resolve())
    service.child.once('exit', (code, signal) => reject(new Error(`the service ended (${code ?? signal})`)))
  })

export const startService = async ({ folder, plc, id }) => {
  const known = services.get(id)
  if (known) {
    await run(known)
    return known.facts
  }
  const name = `own${services.size}`
  const service = { folder: path.join(folder, name), port: await freePort(), plc, rotationKey: crypto.randomBytes(32).toString('hex') }
  fs.mkdirSync(path.join(service.folder, 'data'), { recursive: true })
  services.set(name, service)
  await run(service)
  const pds = `http://localhost:${service.port}`
  const agent = new AtpAgent({ service: pds })
  const handle = `${name}.test`
  await agent.createAccount({ handle, email: `${name}@test.invalid`, password: `${name}-main-pass` })
  const made = await agent.com.atproto.server.createAppPassword({ name: 'devnet' })
  service.facts = { id: name, pds, handle, did: agent.assertDid, appPassword: made.data.password }
  return service.facts
}

// Sends a signal; of one that ends the process, the end is waited for.
export const signalService = async ({ id, signal }) => {
  const { child } = services.get(id)
  const ended = signal === 'SIGKILL' ? new Promise((resolve) => child.once('exit', resolve)) : undefined
  child.kill(signal)
  await ended
  return {}
}

export const endServices = () => {
  for (const { child } of services.values()) child?.kill('SIGKILL')
}
