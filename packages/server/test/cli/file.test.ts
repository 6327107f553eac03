import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkConfig } from '@holdfast/runtime/config'
import { describe, expect, it } from 'vitest'
import { formatConfigFile } from '../../src/cli/actions/init.js'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { BAD, CONFIG, World } from './world.js'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

describe('check', () => {
  it('accepts a valid file', async () => {
    const { code, out } = await new World({ 'holdfast.yaml': CONFIG }).run(['check'])
    expect([code, out]).toEqual([EXIT_CODES.ok, 'ok     holdfast.yaml: 2 policies, 1 breaker, 1 pool\n'])
  })

  it('lists every problem with line and column, and exits with 3', async () => {
    const { code, out } = await new World({ 'bad.yaml': BAD }).run(['check', 'bad.yaml'])
    expect(code).toBe(EXIT_CODES.config)
    expect(out).toContain('bad.yaml:3:26 policies.fetch.max_attempts: expected a whole number from 1')
    expect(out).toContain('bad.yaml:4:1 polices')
  })

  it('prints the problems as JSON', async () => {
    const { code, json } = await new World({ 'bad.yaml': BAD }).run(['check', 'bad.yaml', '--json'])
    expect(code).toBe(EXIT_CODES.config)
    expect(json.valid).toBe(false)
    expect(json.errors[0]).toMatchObject({ path: 'policies.fetch.max_attempts', line: 3, column: 26 })
  })

  it('notes overrides of classes that are not operations of the file', async () => {
    const text = `version: "1.2.0"
policies: { fetch: {} }
overrides: { "fetch/Retry/maxRetries": 1, "Graph/save/Retry/maxRetries": 1, "Retry/enabled": false }
`
    const note = 'overrides name Graph/save, of which no decorated method is known yet'
    const { code, out } = await new World({ 'holdfast.yaml': text }).run(['check'])
    expect([code, out]).toEqual([
      EXIT_CODES.ok,
      `note   overrides: ${note}\nok     holdfast.yaml: 1 policy, 0 breakers, 0 pools\n`,
    ])
    const { json } = await new World({ 'holdfast.yaml': text }).run(['check', '--json'])
    expect(json.warnings).toEqual([{ path: 'overrides', message: note }])
  })

  it('rejects an override of fallbacks', async () => {
    const text = 'version: "1.2.0"\noverrides: { "Fallback/enabled": false }\n'
    const { code, out } = await new World({ 'holdfast.yaml': text }).run(['check'])
    expect(code).toBe(EXIT_CODES.config)
    expect(out).toContain('a config cannot override fallbacks')
  })

  it('exits with 3 without a file, and explains how to create one', async () => {
    const { code, err } = await new World().run(['check'])
    expect(code).toBe(EXIT_CODES.config)
    expect(err).toContain('holdfast.yaml not found')
    expect(err).toContain('holdfast init')
  })
})

describe('explain', () => {
  it('shows values, their origins and the delays', async () => {
    const { code, out } = await new World({ 'holdfast.yaml': CONFIG }).run(['explain', 'browser.state'])
    expect(code).toBe(EXIT_CODES.ok)
    expect(out).toContain('fetch  for failures of the kind timeout')
    expect(out).toMatch(/base_delay +0\.2 +policy +holdfast\.yaml:3:\d+/)
    expect(out).toMatch(/attempt 4 +▒+ +0 s – 800 ms/)
  })

  it('shows overrides of the file and of the environment', async () => {
    const text =
      'version: "1.2.0"\npolicies: { fetch: { max_attempts: 9 } }\noverrides: { "Retry/enabled": false }\n'
    const { out } = await new World({ 'holdfast.yaml': text }).run(['explain', 'fetch'], {
      env: { FETCH_TIMEOUT_VALUE: '2s' },
    })
    expect(out).toMatch(/max_attempts +1 +overrides +holdfast\.yaml:3:\d+/)
    expect(out).toMatch(/attempt_timeout +2 +environment +FETCH_TIMEOUT_VALUE/)
  })

  it('fits into the terminal', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const { out } = await world.run(['explain', 'fetch'], { terminal: true, columns: 50 })
    // oxlint-disable-next-line no-control-regex -- colours take no room
    const plain = out.replace(/\u001b\[\d+m/g, '')
    for (const line of plain.split('\n')) expect(line.length, line).toBeLessThanOrEqual(50)
  })

  it('includes the changes made through the API', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const { Holdfast } = await import('@holdfast/runtime')
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), watch: false, env: {} })
    await hf.policies.put({ id: 'fetch', maxAttempts: 7 }, { by: 'ann' })
    await hf.close()
    const { json } = await world.run(['explain', 'fetch', '--json'])
    expect(json.policies[0].values.max_attempts).toMatchObject({ value: 7, origin: 'api' })
    const { json: policies } = await world.run(['policies', '--json'])
    expect(policies.items.find(({ id }: { id: string }) => id === 'fetch').max_attempts).toBe(7)
    const { json: diff } = await world.run(['config', 'diff', '--json'])
    expect(diff.items).toEqual([{ path: 'policies.fetch.max_attempts', before: 4, after: 7 }])
  })
})

describe('reading a config file', () => {
  it('creates no files', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    for (const argv of [['policies'], ['explain', 'fetch'], ['config', 'export'], ['sessions'], ['breakers']])
      expect((await world.run(argv)).code, argv.join(' ')).toBe(EXIT_CODES.ok)
    expect((await world.run(['token', 'list'])).err).toContain('no tokens found')
    expect(existsSync(world.path('data'))).toBe(false)
  })

  it('shows no secret', async () => {
    const world = new World({
      'holdfast.yaml': CONFIG,
      'other.yaml': CONFIG.replaceAll('hunter2', 'hunter3'),
    })
    const { out } = await world.run(['config', 'export'])
    expect(out).toContain('[redacted]')
    const { out: json } = await world.run(['config', 'export', '--json'])
    const { out: diff } = await world.run(['config', 'diff', 'other.yaml'])
    expect(out + json + diff).not.toMatch(/hunter[23]/)
  })

  it('lists the secrets that an exported file lacks', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG, 'open.yaml': 'version: "1.1.0"\n' })
    const said = /secrets were redacted.*pools\.proxies\.members\.0\.url, alerts\.webhook, alerts\.secret/
    for (const argv of [[], ['--json'], ['--out', 'new.yaml']])
      expect((await world.run(['config', 'export', ...argv])).err).toMatch(said)
    expect(readFileSync(world.path('new.yaml'), 'utf8')).toMatch(said)
    expect((await world.run(['check', 'new.yaml'])).code).toBe(EXIT_CODES.ok)
    expect((await world.run(['config', 'export', '--config', 'open.yaml'])).err).toBe('')
  })

  it('lists policies as { items } in the form of the wire', async () => {
    const { json } = await new World({ 'holdfast.yaml': CONFIG }).run(['policies', '--json'])
    const fetch = json.items.find(({ id }: { id: string }) => id === 'fetch')
    expect(fetch).toMatchObject({ max_attempts: 4, base_delay: 0.2, enable_circuit_breaker: false })
  })

  it('rejects a memory store, and explains what to do', async () => {
    const world = new World({ 'holdfast.yaml': 'version: "1.1.0"\nstore: memory\n' })
    const { code, err } = await world.run(['sessions'])
    expect(code).toBe(EXIT_CODES.unreachable)
    expect(err).toContain('--url')
  })
})

describe('init', () => {
  it('writes a valid file, with and without proxies', () => {
    for (const proxies of [true, false]) {
      const { problems, warnings } = checkConfig(
        formatConfigFile({ store: 'files:data', port: 1, proxies }),
        {
          env: {},
        },
      )
      expect([problems, warnings]).toEqual([[], []])
    }
  })

  it('writes a file to which every key of the current format can be added without a warning', () => {
    const text = formatConfigFile({ store: 'files:data', port: 1, proxies: false })
    const { problems, warnings } = checkConfig(`${text}\nerrors: { max_entries: 10 }\n`, { env: {} })
    expect([problems, warnings]).toEqual([[], []])
  })

  it('asks nothing without a terminal, and does not overwrite a file', async () => {
    const world = new World()
    expect((await world.run(['init'])).code).toBe(EXIT_CODES.ok)
    expect((await world.run(['check'])).code).toBe(EXIT_CODES.ok)
    const again = await world.run(['init'])
    expect(again.code).toBe(EXIT_CODES.failure)
    expect(again.err).toContain('--force')
    expect((await world.run(['init', '--force'])).code).toBe(EXIT_CODES.ok)
  })
})

describe('types', () => {
  it('generates types of the names in the file, which limit the operations of a runtime', {
    timeout: 120_000,
  }, async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const use = `import type { Holdfast } from '@holdfast/runtime'
import type { OperationName, PolicyId, PoolId, ServiceName } from './names.js'
export const all: [OperationName, OperationName, PolicyId, PoolId, ServiceName] =
  ['browser.state', 'browser.state.timeout', 'aggressive_retry', 'proxies', 'notion']
// @ts-expect-error -- there is no such policy
export const none: PolicyId = 'fetsh'
export const calls = (hf: Holdfast, name: string) => [
  hf.run('browser.state', () => 1),
  hf.guard('browser.state.timeout'),
  hf.createFetch('aggressive_retry'),
  // @ts-expect-error -- there is no such operation
  hf.run('browsr.state', () => 1),
  // @ts-expect-error -- there is no such operation
  hf.guard('browsr.state'),
  // @ts-expect-error -- there is no such operation
  hf.createFetch('browsr.state'),
  // @ts-expect-error -- there is no such operation
  hf.undici('browsr.state'),
  // @ts-expect-error -- there is no such operation
  hf.pipeline([{ operation: 'browsr.state', run: () => 1 }]),
  // @ts-expect-error -- not every string is an operation
  hf.run(name, () => 1),
]
`
    const open = `import type { Holdfast } from '@holdfast/runtime'
export const calls = (hf: Holdfast, name: string) => [hf.run('any.name', () => 1), hf.run(name, () => 1)]
`
    await world.run(['types', '--out', 'names.ts'])
    writeFileSync(world.path('use.ts'), use)
    writeFileSync(world.path('open.ts'), open)
    writeFileSync(world.path('package.json'), '{ "type": "module" }')
    symlinkSync(join(ROOT, 'node_modules'), world.path('node_modules'))
    const options = [
      '--noEmit',
      '--ignoreConfig',
      '--strict',
      '--module',
      'nodenext',
      '--skipLibCheck',
      '--types',
      'node',
    ]
    const compile = (files: string[]) =>
      execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, ...files], {
        cwd: world.dir,
        encoding: 'utf8',
        stdio: 'pipe',
      })

    expect(compile(['names.ts', 'use.ts'])).toBe('')
    expect(compile(['open.ts'])).toBe('')
  })
})

describe('migrate', () => {
  it('converts a folder of old settings to one file', async () => {
    const world = new World()
    const { mkdirSync } = await import('node:fs')
    mkdirSync(world.path('old'))
    writeFileSync(world.path('old/browser.json'), '{ "state": { "maxRetries": 4, "initialDelayMs": 250 } }')
    const { code, err } = await world.run(['migrate', 'old', '--out', 'holdfast.yaml'])
    expect(code).toBe(EXIT_CODES.ok)
    expect(err).toContain('policies 1 of 1')
    const { json } = await world.run(['explain', 'browser.state', '--json'])
    expect(json.policies.at(-1).values.max_attempts.value).toBe(5)
  })

  it('converts records and exits with 1 if a line is rejected', async () => {
    const world = new World({
      'old.jsonl': `${JSON.stringify({ eventId: 'evt_1', eventType: 'retry_attempt', timestamp: '2026-01-29T12:00:32', attempt: 2, delay: 1.5 })}\nnonsense\n`,
    })
    const { code, err } = await world.run(['migrate', 'old.jsonl', '--out', 'new.jsonl'])
    expect(code).toBe(EXIT_CODES.failure)
    expect(err).toContain('line 2')
    expect(JSON.parse(readFileSync(world.path('new.jsonl'), 'utf8'))).toMatchObject({ event_id: 'evt_1' })
  })

  it('does not overwrite a file without --force', async () => {
    const world = new World({ 'old.yaml': 'version: "1.0.0"\n', 'holdfast.yaml': 'kept' })
    const { code } = await world.run(['migrate', 'old.yaml', '--out', 'holdfast.yaml'])
    expect(code).toBe(EXIT_CODES.failure)
    expect(readFileSync(world.path('holdfast.yaml'), 'utf8')).toBe('kept')
  })
})

describe('completion', () => {
  it('completes words in bash', async () => {
    const world = new World()
    const { out } = await world.run(['completion', 'bash'])
    writeFileSync(world.path('completion.sh'), out)
    const complete = (line: string) =>
      execFileSync('bash', [
        '-c',
        `source ${world.path('completion.sh')}; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _holdfast; echo "\${COMPREPLY[@]}"`,
      ])
        .toString()
        .trim()
        .split(' ')
    expect(complete('holdfast che')).toEqual(['check'])
    expect(complete('holdfast dlq re')).toEqual(['replay'])
    expect(complete('holdfast --json breakers tr')).toEqual(['trip'])
    expect(complete('holdfast dead-letters replay --ra')).toEqual(['--rate'])
  })

  it.each(['zsh', 'fish'])('knows every command for %s', async (shell) => {
    const { out } = await new World().run(['completion', shell])
    for (const word of ['serve', 'dlq', 'rollback', 'revoke']) expect(out).toContain(word)
  })
})
