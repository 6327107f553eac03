import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostgresServer } from '../../../scripts/servers/postgres.mjs'
import { findRedis, RedisServer } from '../../../scripts/servers/redis.mjs'
import type { NodeReport } from './node.js'
import { Part } from './part.js'
import type { TargetReport } from './target.js'

const NODES = ['node-1', 'node-2', 'node-3', 'node-4']

/** A node in the response of the server. */
interface NodeView {
  id: string
  opinions: Record<string, string>
}

/** All processes of the example. */
export class Stage {
  nodes: Part[] = []
  private readonly dir: string
  private readonly script: string
  private readonly here: string
  readonly redis: RedisServer
  readonly postgres: PostgresServer
  private target!: Part
  private server!: Part

  private constructor(
    dir: string,
    script: string,
    here: string,
    redis: RedisServer,
    postgres: PostgresServer,
  ) {
    this.dir = dir
    this.script = script
    this.here = here
    this.redis = redis
    this.postgres = postgres
  }

  /** Starts all processes. `starting` is called with the name of the next one. */
  static async set(script: string, here: string, starting: (what: string) => void): Promise<Stage> {
    starting('Redis')
    const program = await findRedis(join(here, '../..'))
    if (typeof program === 'string') throw new Error(`this example requires Redis: ${program}`)
    const redis = await RedisServer.start(program)
    starting('PostgreSQL')
    const postgres = await PostgresServer.start()
    const dir = await mkdtemp(join(tmpdir(), 'fleet-'))
    const stage = new Stage(dir, script, here, redis, postgres)
    try {
      starting('the service, the server and four nodes')
      stage.target = await Part.start(script, [here, 'target'], {})
      stage.server = await stage.part('server', 'server')
      stage.nodes = await Promise.all(NODES.map((id) => stage.part('node', id)))
    } catch (error) {
      await stage.clear()
      throw error
    }
    return stage
  }

  /** The URL of the server. */
  get url(): string {
    return this.server.ready
  }

  /** The reports of all nodes. */
  reports(): Promise<NodeReport[]> {
    return Promise.all(this.nodes.map((node) => node.ask<NodeReport>('report')))
  }

  /** Whether a condition is true for all nodes. */
  async all(isSo: (report: NodeReport) => boolean): Promise<boolean> {
    return (await this.reports()).every(isSo)
  }

  /** Changes the state of the order service, or only reads its report. */
  async orders(what: 'down' | 'well' | '' = ''): Promise<TargetReport> {
    const response = await fetch(`${this.target.ready}/${what}`, { method: what === '' ? 'GET' : 'POST' })
    return (await response.json()) as TargetReport
  }

  /** Sends a request to the REST API of the server. */
  async api<T>(path: string, body?: object): Promise<T> {
    const sent = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }
    const response = await fetch(`${this.url}${path}`, body === undefined ? {} : sent)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`)
    return (response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text) as T
  }

  /** The state of the breaker on each node, from the server. */
  async opinions(): Promise<Record<string, string>> {
    const { items } = await this.api<{ items: NodeView[] }>('/api/v1/nodes')
    return Object.fromEntries(items.map(({ id, opinions }) => [id, opinions['service:orders'] ?? 'closed']))
  }

  /** Kills a node, and starts another one with the same name. */
  async replace(i: number): Promise<void> {
    await this.nodes[i]?.kill()
    this.nodes[i] = await this.part('node', NODES[i] as string)
  }

  async clear(): Promise<void> {
    await Promise.all([...this.nodes, this.server, this.target].map((part) => part?.kill()))
    await Promise.all([this.redis.kill(), this.postgres.remove()])
    await rm(this.dir, { recursive: true, force: true })
  }

  /** Starts a process with its own folder, as on a separate machine. */
  private async part(role: string, id: string): Promise<Part> {
    const folder = join(this.dir, id)
    await mkdir(folder, { recursive: true })
    const CONFIG = join(folder, 'holdfast.yaml')
    await copyFile(join(this.here, 'holdfast.yaml'), CONFIG)
    return Part.start(this.script, [this.here, role], {
      CONFIG,
      NODE_ID: id,
      REDIS_URL: this.redis.url,
      DATABASE_URL: this.postgres.url,
      TARGET_URL: this.target.ready,
    })
  }
}
