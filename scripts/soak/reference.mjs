// A process without Holdfast that does the same small work all the time. The delay of its event loop changes only if other
// programs take processor time from it, so it shows how busy the machine is.
import { createHash } from 'node:crypto'

const TICK_MS = 20
/** About two milliseconds of work. */
const BLOCK = Buffer.alloc(600_000)

setInterval(() => createHash('sha256').update(BLOCK).digest(), TICK_MS)
console.log('ready')
