import { guard } from 'holdfast'
import { createFetch } from 'holdfast/http'

globalThis.result = [guard().run(() => 1), createFetch()]
