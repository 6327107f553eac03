// A process that is killed: it counts five calls, waits until its counters were saved, and counts three more.
import { writeSync } from 'node:fs'
import { Holdfast } from '@holdfast/runtime'
import { fakeClock } from 'holdfast/testing'

const [store = '', wall = ''] = process.argv.slice(2)
const clock = fakeClock({ wall: Number(wall) })
const hf = await Holdfast.open({ config: { policies: {} }, store, clock })
for (let i = 0; i < 5; i++) await hf.run('save', async () => 1)
await clock.advance(10_000)
// The save began on the virtual clock, and the store needs real time for it.
const isSaved = async () => (await hf.store.metrics.load({ from: 0, to: Number.MAX_SAFE_INTEGER })).length > 0
while (!(await isSaved())) await new Promise((resolve) => setImmediate(resolve))
for (let i = 0; i < 3; i++) await hf.run('save', async () => 1)
writeSync(1, 'counted\n')
// oxlint-disable-next-line holdfast/clock -- the process must run until it is killed
setInterval(() => {}, 1000)
