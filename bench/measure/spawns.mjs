import { spawnSync } from 'node:child_process'

const TELL = `process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  process.stdout.write(String((user + system) / 1000))
})\n`

/**
 * How much longer Node takes over a script that imports modules than over an empty one, in turns.
 *
 * @param {string[]} modules
 * @param {number} times
 * @returns {{ wall: number[], processor: number[] }} milliseconds, by the clock and of the processor
 */
export function importCost(modules, times) {
  const script = modules.map((name) => `import ${JSON.stringify(name)}\n`).join('')
  spawn('')
  spawn(script)
  /** @type {{ wall: number[], processor: number[] }} */
  const samples = { wall: [], processor: [] }
  for (let i = 0; i < times; i++) {
    const before = i % 2 === 0 ? spawn('') : undefined
    const full = spawn(script)
    const empty = before ?? spawn('')
    samples.wall.push(full.wall - empty.wall)
    samples.processor.push(full.processor - empty.processor)
  }
  return samples
}

/** @param {string} script */
function spawn(script) {
  const start = performance.now()
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', TELL + script],
    {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(stderr)
  return { wall: performance.now() - start, processor: Number(stdout) }
}
