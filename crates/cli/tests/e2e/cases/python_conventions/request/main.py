def main(request):
    return request.get_data(), 200, {"content-type": "application/octet-stream"}
