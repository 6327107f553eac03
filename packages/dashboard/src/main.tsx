import './language.js'
import '@picocss/pico/css/pico.min.css'
import 'uplot/dist/uPlot.min.css'
import './style/base.css'
import './style/parts.css'
import './style/views.css'
import { render } from 'preact'
import { startFeed } from './feed/feed.js'
import { page } from './page.js'
import { followLinks } from './route.js'
import { App } from './shell/app.js'
import { startTheme } from './shell/theme.js'
import { VIEWS } from './shell/views.js'

startTheme()
followLinks(new Set(VIEWS.map(({ path }) => path)))
startFeed()
render(<App />, page.getElementById('app') as HTMLElement)
