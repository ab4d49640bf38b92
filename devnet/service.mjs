// A PDS in a process of its own, which tests may stop and kill without disturbing anybody. Everything it needs to come
// back as the same service is in its folder and its arguments.
import './loopback.mjs'
import path from 'node:path'
import { TestPds } from '@atproto/dev-env'

const { folder, port, plc, rotationKey } = JSON.parse(process.argv[2])
// It must not outlive the network that it belongs to.
process.on('disconnect', () => process.exit(0))
await TestPds.create({
  port, hostname: 'localhost', didPlcUrl: plc, enableDidDocWithSession: true,
  dataDirectory: path.join(folder, 'data'), blobstoreDiskLocation: path.join(folder, 'blobs'),
  plcRotationKeyK256PrivateKeyHex: rotationKey,
  // An AppView that is not there.
  bskyAppViewUrl: 'http://localhost:1', bskyAppViewDid: 'did:web:localhost%3A1',
})
process.send('ready')
