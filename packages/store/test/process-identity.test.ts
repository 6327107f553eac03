import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { describeProcess, livenessOf, THIS_PROCESS } from '../src/files/process-identity.js'

const [pid = '', startedAt = '', boot = '', namespace = '', host = ''] = THIS_PROCESS.split(' ')
const text = (fields: object) => Object.values({ pid, startedAt, boot, namespace, host, ...fields }).join(' ')
const self = { pid, startedAt, boot, namespace, host }
const UNKNOWN_SYSTEM = { boot: '-', namespace: '-', startedAt: '-' }

/** The number of a process that has ended. */
async function endedPid(): Promise<string> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return `${child.pid}`
}

describe('the liveness of a recorded process', () => {
  it('is alive while it runs', () => {
    expect(livenessOf(THIS_PROCESS)).toBe('alive')
  })

  it('is dead once it has ended', async () => {
    expect(livenessOf(text({ pid: await endedPid() }))).toBe('dead')
  })

  it.runIf(process.platform === 'linux')('is dead if another process has its number now', () => {
    expect(livenessOf(text({ startedAt: '1' }))).toBe('dead')
  })

  it('is unknown on another machine, which may have the same name, and in another container', () => {
    expect(livenessOf(text({ boot: 'another' }), { ...self, boot: 'this' })).toBe('unknown')
    expect(livenessOf(text({ boot: 'another', host: 'other' }), { ...self, boot: 'this' })).toBe('unknown')
    expect(livenessOf(text({ boot: 'b', namespace: 'other' }), { ...self, boot: 'b' })).toBe('unknown')
    expect(livenessOf(text({ namespace: '-' }), { ...self, namespace: '-' })).toBe('unknown')
  })

  it('is unknown if another process may have its number now', () => {
    const here = { ...self, ...UNKNOWN_SYSTEM }
    expect(livenessOf(text(UNKNOWN_SYSTEM), here)).toBe('unknown')
    expect(livenessOf(text({ startedAt: '-' }))).toBe('unknown')
  })

  it('is dead on a system that only reports that there is no such process', async () => {
    const here = { ...self, ...UNKNOWN_SYSTEM }
    expect(livenessOf(text({ ...UNKNOWN_SYSTEM, pid: await endedPid() }), here)).toBe('dead')
    expect(livenessOf(text({ ...UNKNOWN_SYSTEM, host: 'other' }), here)).toBe('unknown')
  })

  it('is described with its number and host', () => {
    expect(describeProcess(THIS_PROCESS)).toBe(`process ${pid} on ${hostname()}`)
    expect(describeProcess(text({}))).toBe(`process ${pid} on an unknown host`)
    expect(describeProcess('nonsense')).toBe('an unknown process')
    expect(describeProcess('1 2 3 4 5 \u001b[31m')).toBe('process 1 on an unknown host')
  })

  it.each(['', 'nonsense', '1 2', '-1 2 3 4 5'])('is unknown for the text %j', (written) => {
    expect(livenessOf(written)).toBe('unknown')
  })
})
