import { describe, expect, it, onTestFinished } from 'vitest'
import { missing, RealRedis, until } from '../../../fleet/test/redis.js'
import { DRIVER_WITHOUT_TIMEOUTS } from '../../../fleet/test/setup.js'
import { openRuntime } from '../../../runtime/src/holdfast/holdfast.js'
import { createApp } from '../../src/app/app.js'
import { asking } from '../fixture.js'
import { parse } from './parser.js'

describe.skipIf(missing !== undefined)('a server whose Redis fails and recovers', () => {
  it('reports the loss in a stored event and in metrics, and continues calls', async () => {
    const redis = await RealRedis.start()
    onTestFinished(() => redis.kill())
    const config = { version: '1.1.0', shared: redis.url, node: { id: 'a', heartbeat: 100 } } as const
    const redisDriver = DRIVER_WITHOUT_TIMEOUTS
    const hf = await openRuntime({ config, env: {}, watch: false }, { redisDriver })
    const app = createApp(hf, { dashboard: false })
    onTestFinished(async () => {
      await app.close()
      await hf.close()
    })
    const heard: string[] = []
    hf.events.on('*', ({ eventType }) => void heard.push(eventType))
    const ask = asking(app)
    const metrics = async () => {
      const { samples } = parse((await ask('GET', '/metrics')).body as string)
      return ['up', 'losses_total'].map(
        (name) => samples.find((sample) => sample.name === `holdfast_shared_state_${name}`)?.value,
      )
    }
    expect(await metrics()).toEqual([1, 0])

    await redis.kill()
    await until(() => heard.includes('shared_state_lost'))
    expect(await metrics()).toEqual([0, 1])
    expect(await hf.run('anything', () => 'fine')).toBe('fine')

    await redis.up()
    await until(() => heard.includes('shared_state_restored'))
    expect(await metrics()).toEqual([1, 1])
    const { items } = await hf.events.list({
      types: ['shared_state_lost', 'shared_state_restored'],
      order: 'oldest',
    })
    expect(items.map(({ eventType }) => eventType)).toEqual(['shared_state_lost', 'shared_state_restored'])
  })
})
