// The files of deploy/ run on machines that tests do not have. These tests check everything in them that the sources define.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Holdfast } from '@holdfast/runtime'
import { checkConfig } from '@holdfast/runtime/config'
import { systemClock } from 'holdfast/internal'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { createApp } from '../../src/app/app.js'
import { createProgram } from '../../src/cli/program.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const files = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
  .map((name) => posix.join('deploy', name))
  .filter((file) => /\.(ya?ml|service|md)$|Dockerfile$/.test(file))
  .toSorted()

/** The arguments of a command line of these files; variables become a plain word. */
const splitArguments = (line: string) =>
  line
    .replaceAll(/\{\{.*?\}\}/g, 'name')
    .replace(/\s*[>|;`].*$/, '')
    .replace(/[.']+$/, '')
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/^"\$\w+"$/, 'name'))

/** Parses a command with the parser of the command line, without running it. Returns what the parser objects to. */
async function parseCommand(argv: readonly string[]): Promise<string> {
  let errors = ''
  const io = {
    out: () => {},
    err: (text: string) => {
      errors += text
    },
    isTerminal: false,
    canDrawProgress: false,
    canPrompt: false,
    hasColours: false,
    columns: () => 80,
    env: {},
    cwd: root,
    clock: systemClock,
    onInterrupt: () => () => {},
  }
  let ran = 0
  const program = createProgram(io, '1.0.0', async () => {
    ran += 1
  })
  await program.parseAsync([...argv], { from: 'user' }).catch((error: Error) => {
    errors += error.message
  })
  return errors === '' && ran === 1 ? '' : `${argv.join(' ')}: ${errors || 'runs no action'}`
}

const dockerfile = read('deploy/docker/Dockerfile')
const compose = parse(read('deploy/docker/compose.yaml'))
const statefulSet = parse(read('deploy/kubernetes/sqlite/statefulset.yaml'), { merge: true })
const pod = statefulSet.spec.template.spec
const [container] = pod.containers
const unit = read('deploy/systemd/holdfast.service')
const jsonLine = (instruction: string): string[] =>
  JSON.parse(dockerfile.match(new RegExp(`^${instruction} (\\[.*\\])$`, 'm'))?.[1] ?? '[]')

describe('commands in deploy/', () => {
  const inText = files.flatMap((file) =>
    [
      ...read(file).matchAll(
        /(?:\bholdfast(?:\.js)?|--rm holdfast) ((?:token|serve|check|breakers|sessions|dead-letters|config) .*)$/gm,
      ),
    ].map(([, line = '']): [string, string[]] => [file, splitArguments(line)]),
  )
  const commands: [string, string[]][] = [
    ...inText,
    ['deploy/docker/Dockerfile', jsonLine('CMD')],
    ['deploy/docker/compose.yaml', compose.services.holdfast.command],
    ['deploy/kubernetes/sqlite/statefulset.yaml', container.args],
  ]

  it('are found in all files that contain commands', () => {
    expect([...new Set(commands.map(([file]) => file))].toSorted()).toEqual([
      'deploy/docker/Dockerfile',
      'deploy/docker/compose.yaml',
      'deploy/kubernetes/sqlite/statefulset.yaml',
      'deploy/prometheus/prometheus-rule.yaml',
      'deploy/prometheus/service-monitor.yaml',
      'deploy/systemd/holdfast.service',
    ])
  })

  it.each(commands)('of %s are accepted by the command line: %j', async (_, argv) => {
    expect(await parseCommand(argv)).toBe('')
  })

  test('with an unknown option are rejected, so that this test can fail', async () => {
    expect(await parseCommand(['serve', '--confg', 'a.yaml'])).toContain('--confg')
  })

  it('start the command of the package @holdfast/server', () => {
    const path = 'node_modules/@holdfast/server/bin/holdfast.js'
    const { bin } = JSON.parse(read('packages/server/package.json'))
    expect(bin.holdfast).toBe('./bin/holdfast.js')
    expect(jsonLine('ENTRYPOINT')).toEqual(['node', `/app/${path}`])
    expect(unit).toMatch(new RegExp(`^ExecStart=/usr/bin/node /opt/holdfast/${path} serve `, 'm'))
    expect(pod.initContainers[0].command[2]).toContain(`node /app/${path} "$@"`)
  })
})

describe('config files in deploy/', () => {
  const env = {
    DLQ_KEY: Buffer.alloc(32).toString('base64'),
    POSTGRES_PASSWORD: 'password',
    DATABASE_URL: 'postgres://user@host/database',
    REDIS_URL: 'redis://host',
  }
  const configs = files.filter((file) => file.endsWith('/holdfast.yaml'))

  it.each(configs)('%s is valid and listens on port 8000 of every address', (file) => {
    const { config, problems, warnings } = checkConfig(read(file), { env, file })
    expect([...problems, ...warnings]).toEqual([])
    expect(config?.server).toEqual({ host: '0.0.0.0', port: 8000 })
  })

  it('get every variable that they use from the environment of the container', () => {
    expect(configs).toHaveLength(3)
    const given = { ...compose.services.holdfast.environment }
    const used = (file: string) => [...read(file).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
    expect(new Set(Object.keys(given))).toEqual(new Set(used('deploy/docker/config/holdfast.yaml')))
    const described =
      read('deploy/kubernetes/sqlite/statefulset.yaml') +
      read('deploy/kubernetes/postgres/kustomization.yaml')
    for (const name of configs.slice(1).flatMap(used)) expect(described).toContain(name)
  })

  it('are not affected by misspelled HOLDFAST_ variables', () => {
    const names = files.flatMap((file) =>
      [...read(file).matchAll(/\bHOLDFAST_\w+(?==)/g)].map(([name]) => name),
    )
    expect(names).toEqual(['HOLDFAST_SERVER_HOST'])
    const { config, warnings } = checkConfig('version: "1.2.0"\n', {
      env: { HOLDFAST_SERVER_HOST: '0.0.0.0' },
    })
    expect([config?.server?.host, warnings]).toEqual(['0.0.0.0', []])
  })
})

describe('ports and paths in deploy/', () => {
  it('are those of the server', async () => {
    const hf = await Holdfast.open({ config: { version: '1.2.0' }, store: 'memory' })
    onTestFinished(() => hf.close())
    const app = createApp(hf)
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
    const monitor = parse(read('deploy/prometheus/service-monitor.yaml')).spec.endpoints[0]
    const [scrape] = parse(read('deploy/prometheus/prometheus.yml')).scrape_configs
    const [, health] = dockerfile.match(/127\.0\.0\.1:8000(\/[\w/]+)/) ?? []
    const paths = [...probes.map(({ httpGet }) => httpGet.path), health, monitor.path, scrape.metrics_path]
    expect(paths).toHaveLength(6)
    for (const path of paths) {
      const { status } = await app.request(`http://localhost${path}`)
      expect([path, status]).toEqual([path, path === '/metrics' ? expect.any(Number) : 200])
      expect(status, path).not.toBe(404)
    }
    expect((await app.request('http://localhost/healthz')).status).toBe(404)
  })

  it('are the same in all files', () => {
    expect(dockerfile).toMatch(/^EXPOSE 8000 8080$/m)
    expect(container.ports).toEqual([{ name: 'http', containerPort: 8000 }])
    expect(parse(read('deploy/kubernetes/sqlite/service.yaml')).spec.ports).toEqual([
      { name: 'http', port: 8000, targetPort: 'http' },
    ])
    expect(compose.services.holdfast.ports).toEqual(['127.0.0.1:8000:8000'])
    expect(read('deploy/prometheus/prometheus.yml')).toContain("targets: ['holdfast:8000']")
  })
})

describe('the files of deploy/', () => {
  it.each(files.filter((file) => /\.ya?ml$/.test(file)))('%s is valid YAML with unique keys', (file) => {
    for (const document of parseAllDocuments(read(file), { merge: true }))
      expect([...document.errors, ...document.warnings]).toEqual([])
  })

  it('mount volumes and files that exist', () => {
    const folder = 'deploy/docker'
    for (const { volumes = [] } of Object.values<{ volumes?: string[] }>(compose.services))
      for (const [source = ''] of volumes.map((volume) => volume.split(':')))
        if (!source.startsWith('.')) expect(Object.keys(compose.volumes)).toContain(source)
        // The user creates the file with the token.
        else if (!source.endsWith('.token')) expect(existsSync(join(root, folder, source)), source).toBe(true)
    const volumes = [
      ...pod.volumes.map(({ name }: { name: string }) => name),
      ...statefulSet.spec.volumeClaimTemplates.map(
        ({ metadata }: { metadata: { name: string } }) => metadata.name,
      ),
    ]
    for (const { volumeMounts } of [container, ...pod.initContainers])
      for (const { name } of volumeMounts) expect(volumes).toContain(name)
  })

  it('contain the version of the packages and of the alert rules', () => {
    const { version } = JSON.parse(read('packages/server/package.json'))
    expect(parse(read('deploy/kubernetes/sqlite/kustomization.yaml')).images[0].newTag).toBe(version)
    expect(parse(read('deploy/prometheus/prometheus-rule.yaml')).spec).toEqual(
      parse(read('docs/alerts/holdfast.yml')),
    )
  })

  it('install every package of the server and the tested drivers into the image', () => {
    const manifests = readdirSync(join(root, 'packages')).map((name) =>
      JSON.parse(read(`packages/${name}/package.json`)),
    )
    const published = manifests
      .filter((manifest) => manifest.private !== true)
      .map(({ name }) => name)
      // Parts of other programs; the server does not use them.
      .filter((name) => !/^@holdfast\/(adapters|compat|nestjs)$/.test(name))
    expect([...dockerfile.matchAll(/-w (\S+)/g)].map(([, name]) => name)).toEqual(
      expect.arrayContaining(published),
    )
    const { devDependencies } = JSON.parse(read('packages/runtime/package.json'))
    expect(dockerfile).toContain(`pg@${devDependencies.pg} ioredis@${devDependencies.ioredis}`)
  })

  const has = (program: string) => spawnSync(program, ['--help']).error === undefined

  it.skipIf(!has('kubectl')).each(['sqlite', 'postgres'])('build with kubectl: %s', (name) => {
    const built = execFileSync('kubectl', ['kustomize', join(root, 'deploy/kubernetes', name)], {
      encoding: 'utf8',
    })
    const kinds = parseAllDocuments(built).map((document) => document.toJS().kind)
    expect(new Set(kinds)).toEqual(new Set(['ConfigMap', 'NetworkPolicy', 'Service', 'StatefulSet']))
  })

  it.skipIf(!has('systemd-analyze'))('pass systemd-analyze', () => {
    const file = join(root, 'deploy/systemd/holdfast.service')
    const { stderr, stdout } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    // Messages about other units, and about a node at another path, depend on the machine.
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('holdfast.service'))
    expect(lines.filter((line) => !/not executable|No such file/.test(line))).toEqual([])
  })

  it('refer to pages that exist', () => {
    for (const [, page = ''] of read('deploy/README.md').matchAll(/\]\(([^)#]+)\)/g))
      expect(existsSync(join(root, 'deploy', page)), page).toBe(true)
  })
})
