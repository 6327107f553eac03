// The same packages as ECMAScript modules.
import assert from 'node:assert/strict'
import { HoldfastModule, Resilient } from '@holdfast/nestjs'
import { HoldfastHealthIndicator } from '@holdfast/nestjs/terminus'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { TerminusModule } from '@nestjs/terminus'

@Injectable()
class Prices {
  calls = 0

  @Resilient('prices')
  async load(): Promise<number> {
    if (++this.calls < 3) throw new Error('connection lost')
    return this.calls
  }
}

@Module({
  imports: [
    HoldfastModule.forRoot({
      open: { config: { version: '1.2.0', store: 'memory' } },
      guards: { prices: { retry: { backoffType: 'immediate' } } },
    }),
    TerminusModule,
  ],
  providers: [Prices, HoldfastHealthIndicator],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
assert.equal(await app.get(Prices).load(), 3)
assert.deepEqual(await app.get(HoldfastHealthIndicator).checkStore('store'), {
  store: { status: 'up', store: 'memory', runtime: 'ok' },
})
await app.close()
