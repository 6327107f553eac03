// Measures one subject of one case in this process and prints what it measured: node worker.mjs CASE LABEL
import { dirname } from 'node:path'
import { cases } from './cases/index.mjs'

const [name, label] = process.argv.slice(2)

async function measured() {
  const subject = cases.find((one) => one.name === name)?.subjects.find((one) => one.label === label)
  if (subject === undefined) return { failed: `there is no ${label} in ${name}` }
  try {
    return await subject.measure()
  } catch (error) {
    const [message = ''] = String(error).split('\n')
    return { failed: message.replaceAll(dirname(import.meta.dirname), '.') }
  }
}

// Some libraries leave timers behind that would keep the process alive.
process.stdout.write(JSON.stringify(await measured()), () => process.exit(0))
