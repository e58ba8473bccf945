export default {
  async fetch(request) {
    return new Response(request.body, { headers: { "content-type": "application/octet-stream", "x-url": new URL(request.url).pathname } });
  },
};
