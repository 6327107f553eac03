import assert from 'node:assert/strict'
import { Holdfast } from '@holdfast/runtime'
import { guard } from 'holdfast'

assert.equal(await guard().run(() => 1), 1)
const hf = await Holdfast.open({ config: { version: '1.2.0', store: 'memory' } })
assert.equal(await hf.run('mail.send', async () => 'sent'), 'sent')
await hf.close()
