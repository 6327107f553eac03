export default { build: { ssr: 'app.js', outDir: 'out' } }
