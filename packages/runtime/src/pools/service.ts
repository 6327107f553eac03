import { HoldfastError, type Member, type Pool } from 'holdfast'
import type { MemberChange } from '../config/layer/member-schema.js'
import { addMember, changeMember, idProblem, memberId, removeMember } from '../config/layer/members.js'
import { show } from '../config/problem.js'
import type { Configuration } from '../configuration.js'
import type { NewMember, PoolService } from '../face.js'
import type { Actor, Kit } from '../kit.js'
import type { PoolSet } from './pools.js'

/** What may be shown of a member. */
const shown = ({ value, weight = 1, region }: Member, status: string) => ({
  url: String(value),
  weight,
  ...(region !== undefined && { region }),
  status,
})

/** The pools of the configuration, and changes of who is in them. */
export class Pools implements PoolService {
  private readonly kit: Kit
  private readonly config: Configuration
  private readonly pools: PoolSet

  constructor(kit: Kit, config: Configuration, pools: PoolSet) {
    this.kit = kit
    this.config = config
    this.pools = pools
  }

  get(id: string): Pool {
    return this.pools.get(id) as Pool
  }

  async list(): Promise<Pool[]> {
    return this.pools.list() as Pool[]
  }

  async addMember(poolId: string, given: NewMember, actor?: Actor): Promise<Member> {
    const pool = this.get(poolId)
    const { config } = this
    const { id = hostOf(given), ...rest } = given
    if (typeof id !== 'string' || id === '') throw wrong('id: takes a text that is not empty')
    const problem = idProblem(id)
    if (problem !== undefined) throw wrong(`id: ${problem}`)
    if (pool.members().some((member) => member.id === id))
      throw wrong(`id: the pool ${poolId} has a member ${JSON.stringify(id)} already`)
    await config.changeLayer(
      (layer) =>
        addMember(layer, poolId, config.filedMembers(poolId), { ...rest, id } as MemberChange & {
          id: string
        }),
      actor,
    )
    const member = this.find(poolId, id)
    const after = shown(member, this.get(poolId).status(id))
    await this.kit.audit(actor, 'member.add', `${poolId}/${id}`, { after })
    return member
  }

  async changeMember(
    poolId: string,
    id: string,
    { enabled, weight }: { enabled?: boolean | undefined; weight?: number | undefined },
    actor?: Actor,
  ): Promise<Member> {
    const found = this.find(poolId, id)
    if (enabled === undefined && weight === undefined) return found
    const before = shown(found, this.get(poolId).status(id))
    const { config } = this
    const given: MemberChange = {
      ...(enabled !== undefined && { enabled }),
      ...(weight !== undefined && { weight }),
    }
    if (this.isConfigured(poolId, id))
      await config.changeLayer((layer) => changeMember(layer, poolId, id, given), actor)
    else if (weight !== undefined) this.get(poolId).revise({ ...this.find(poolId, id), weight })
    const pool = this.get(poolId)
    // Whoever drained it, what is wished for now holds.
    if (enabled === false) pool.drain(id)
    else if (enabled === true) pool.enable(id)
    const member = this.find(poolId, id)
    const after = shown(member, pool.status(id))
    await this.kit.audit(actor, 'member.change', `${poolId}/${id}`, { before, after })
    return member
  }

  async removeMember(poolId: string, id: string, actor?: Actor): Promise<void> {
    const before = shown(this.find(poolId, id), this.get(poolId).status(id))
    const { config } = this
    if (this.isConfigured(poolId, id))
      await config.changeLayer((layer) => removeMember(layer, poolId, config.filedMembers(poolId), id), actor)
    else this.get(poolId).remove(id)
    await this.kit.audit(actor, 'member.remove', `${poolId}/${id}`, { before })
  }

  /** Whether a member is the configuration's; others were added in code and are known to this process alone. */
  private isConfigured(poolId: string, id: string): boolean {
    return this.config.members(poolId).some(({ entry }) => memberId(entry) === id)
  }

  private find(poolId: string, id: string): Member {
    const member = this.get(poolId)
      .members()
      .find((one) => one.id === id)
    if (member !== undefined) return member
    const name = typeof id === 'string' && idProblem(id) !== undefined ? 'of that id' : show(id)
    throw wrong(`member: the pool ${poolId} has no member ${name}`)
  }
}

const wrong = (problem: string) =>
  new HoldfastError('INVALID_OPTIONS', `a member of a pool cannot be changed: ${problem}`, {
    details: [problem],
  })

/** What a member is called that has no name. The url is not repeated where it is wrong: it may hold a password. */
function hostOf(given: NewMember): string {
  if (typeof given?.url === 'string' && URL.canParse(given.url)) return new URL(given.url).host
  throw wrong('url: takes a url that begins with http:// or https:// or socks5:// or socks5h://')
}
