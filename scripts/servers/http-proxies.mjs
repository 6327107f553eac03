// cspell:ignore libecap libnetfilter conntrack libnfnetlink libltdl fastcgi uwsgi scgi coredump netdb unlinkd
// nginx and Squid for the fuzz targets that compare how servers parse the same bytes: installed, or from Debian's packages.
// `node scripts/servers/http-proxies.mjs` prepares both and prints where they are, or the reason why there is none (exit code 1).
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findDebianProgram } from './debian.mjs'
import { findFreePort } from './ports.mjs'
import { startServer } from './supervise.mjs'

const NGINX = {
  name: 'nginx',
  commands: ['nginx'],
  packages: ['nginx'],
  file: 'usr/sbin/nginx',
  versionOption: '-v',
}

const SQUID = {
  name: 'squid',
  commands: ['squid'],
  packages: ['squid', 'squid-common', 'libecap3', 'libnetfilter-conntrack3', 'libnfnetlink0', 'libltdl7'],
  file: 'usr/sbin/squid',
  versionOption: '-v',
}

/** @typedef {{ ports: number[], close(): Promise<unknown> }} Started */

/** Servers that were started by root give up its rights, and then need another user. */
const IS_ROOT = process.getuid?.() === 0

/** How often a port is tried until it accepts connections. */
const MAX_TRIES = 300

/** Resolves when a port accepts connections. @param {number} port */
async function waitForPort(port) {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise((resolve) =>
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false)),
    )
    socket.destroy()
    if (isOpen) return
    if (tries === MAX_TRIES) throw new Error(`the port ${port} does not accept connections`)
    await wait(100)
  }
}

/** @param {import('./supervise.mjs').SupervisedProcess} server @param {NodeJS.Signals} signal @param {string} folder */
async function stop(server, signal, folder) {
  await server.end(signal)
  await rm(folder, { recursive: true, force: true })
}

/**
 * Starts nginx as a reverse proxy: one port in front of each of these ports.
 *
 * @param {string} root of the repository
 * @param {readonly number[]} targets
 * @returns {Promise<Started | string>} or the reason why there is none
 */
export async function startNginx(root, targets) {
  const program = await findDebianProgram(root, NGINX)
  if (typeof program === 'string') return program
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-nginx-'))
  /** @type {number[]} */
  const ports = []
  for (const _ of targets) ports.push(await findFreePort())
  const servers = targets.map(
    (target, i) => `
    upstream target${i} { server 127.0.0.1:${target}; keepalive 4; }
    server {
      listen 127.0.0.1:${ports[i]};
      location / { proxy_pass http://target${i}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off; }
    }`,
  )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  await writeFile(
    join(folder, 'nginx.conf'),
    `${IS_ROOT ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 512; }
http { access_log off; ${temporary.join(' ')} ${servers.join('\n')} }`,
  )
  const server = await startServer({
    name: 'nginx',
    command: program.file,
    args: ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr'],
    env: program.env,
    stopSignal: 'SIGTERM',
    temporaryFolders: [folder],
    isReady: () => true,
  })
  for (const port of ports) await waitForPort(port)
  return { ports, close: () => stop(server, 'SIGTERM', folder) }
}

/**
 * Starts Squid, which sends every request to the proxy at a port.
 *
 * @param {string} root of the repository
 * @param {number} parent
 * @returns {Promise<Started | string>} or the reason why there is none
 */
export async function startSquid(root, parent) {
  const program = await findDebianProgram(root, SQUID)
  if (typeof program === 'string') return program
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-squid-'))
  await chmod(folder, 0o777)
  // The templates of its error pages are in another package; it works without them.
  await mkdir(join(folder, 'errors'))
  const port = await findFreePort()
  const share = join(root, '.cache/squid/usr/share/squid')
  await writeFile(
    join(folder, 'squid.conf'),
    `http_port 127.0.0.1:${port}
pid_filename none
cache deny all
cache_mem 8 MB
access_log none
cache_log ${folder}/cache.log
cache_store_log none
coredump_dir ${folder}
netdb_filename none
icon_directory ${share}/icons
error_directory ${folder}/errors
mime_table ${share}/mime.conf
unlinkd_program /bin/true
pinger_enable off
logfile_daemon /bin/true
cache_peer 127.0.0.1 parent ${parent} 0 no-query no-digest no-netdb-exchange default
never_direct allow all
http_access allow all
${IS_ROOT ? 'cache_effective_user nobody' : ''}
shutdown_lifetime 0 seconds
`,
  )
  const server = await startServer({
    name: 'Squid',
    command: program.file,
    args: ['-N', '-f', join(folder, 'squid.conf'), '-n', `fuzz${process.pid}`],
    env: program.env,
    stopSignal: 'SIGKILL',
    temporaryFolders: [folder],
    isReady: () => true,
  })
  await waitForPort(port)
  return { ports: [port], close: () => stop(server, 'SIGKILL', folder) }
}

// Not where it is part of a bundle.
if (process.argv[1]?.endsWith('scripts/servers/http-proxies.mjs')) {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  for (const program of [NGINX, SQUID]) {
    const found = await findDebianProgram(root, program, { again: true })
    console.log(typeof found === 'string' ? found : found.file)
    if (typeof found === 'string') process.exitCode = 1
  }
}
