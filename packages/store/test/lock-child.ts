import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Disk } from '../src/files/disk.js'
import { FairFileLock } from '../src/files/lock.js'
import { ProcessLock } from '../src/files/process-lock.js'

// node lock-child.mjs FILE hold|try|count|write [COUNTER]: uses a lock and prints the steps.
const [, , file = '', what = '', counter = ''] = process.argv
const lock = new FairFileLock(file)

if (what === 'hold') {
  process.stdin.resume()
  void lock.runExclusive(async () => {
    console.log('held')
    await new Promise(() => {})
  })
} else if (what === 'try') {
  const held = new ProcessLock(`${file}.held`)
  console.log(held.tryAcquire() ? 'free' : 'busy')
  held.release()
} else if (what === 'write') {
  const disk = new Disk().fencedBy(lock)
  const written = lock.runExclusive(async () => {
    console.log('held')
    await once(process.stdin, 'data')
    await disk.replace(counter, 'of the process that was stopped')
  })
  console.log(await written.then(() => 'written', String))
  process.exit(0)
} else {
  let isOver = false
  process.stdin.on('end', () => (isOver = true)).resume()
  // Prints an exclamation mark if another process has written in between.
  while (!isOver)
    await lock.runExclusive(async () => {
      const before = Number(readFileSync(counter, 'utf8'))
      writeFileSync(counter, String(before + 1))
      await new Promise((resolve) => setImmediate(resolve))
      process.stdout.write(Number(readFileSync(counter, 'utf8')) === before + 1 ? '.' : '!')
    })
  process.exit(0)
}
